// schema prints a JSON Schema of KubeVirt's VirtualMachine and KubeVirt objects, as its Go types of the version in
// go.mod have them: every field that the API server knows, its type, and no other. Descriptions are left out.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"runtime/debug"
	"strings"

	v1 "kubevirt.io/api/core/v1"
)

type object map[string]any

// Types that write themselves, by what they are in JSON.
var special = map[string]object{
	"k8s.io.apimachinery.pkg.api.resource.Quantity":   {"type": []string{"string", "number"}},
	"k8s.io.apimachinery.pkg.apis.meta.v1.Time":       {"type": []string{"string", "null"}},
	"k8s.io.apimachinery.pkg.apis.meta.v1.MicroTime":  {"type": []string{"string", "null"}},
	"k8s.io.apimachinery.pkg.apis.meta.v1.Duration":   {"type": "string"},
	"k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1":   {"type": "object"},
	"k8s.io.apimachinery.pkg.runtime.RawExtension":    {"type": "object"},
	"k8s.io.apimachinery.pkg.util.intstr.IntOrString": {"type": []string{"string", "integer"}},
}

type definitions map[string]object

func name(t reflect.Type) string { return strings.ReplaceAll(t.PkgPath(), "/", ".") + "." + t.Name() }

func (d definitions) of(t reflect.Type) object {
	if known, ok := special[name(t)]; ok {
		return known
	}
	switch t.Kind() {
	case reflect.Pointer:
		return d.of(t.Elem())
	case reflect.Struct:
		d.define(t)
		return object{"$ref": "#/$defs/" + name(t)}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": d.of(t.Elem())}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": "string"}
		}
		return object{"type": "array", "items": d.of(t.Elem())}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Interface:
		return object{}
	default:
		return object{"type": "integer"}
	}
}

func (d definitions) define(t reflect.Type) {
	if _, done := d[name(t)]; done {
		return
	}
	properties := object{}
	// Before its fields: types may contain themselves.
	d[name(t)] = object{"type": "object", "additionalProperties": false, "properties": properties}
	d.fields(t, properties)
}

func (d definitions) fields(t reflect.Type, properties object) {
	for i := range t.NumField() {
		field := t.Field(i)
		key, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case key == "-" || !field.IsExported():
		case key == "" && (field.Anonymous || strings.Contains(options, "inline")):
			inner := field.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			d.fields(inner, properties)
		case key != "":
			properties[key] = d.of(field.Type)
		}
	}
}

func main() {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "kubevirt.io/api" {
				version = module.Version
			}
		}
	}
	defined := definitions{}
	defined.define(reflect.TypeOf(v1.VirtualMachine{}))
	defined.define(reflect.TypeOf(v1.KubeVirt{}))
	schema := object{
		"$schema":  "https://json-schema.org/draft/2020-12/schema",
		"$comment": "kubevirt.io/api " + version + ", by `go run . >schema.json` in tests/kubevirt",
		"$defs": defined,
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(schema); err != nil {
		panic(err)
	}
}
