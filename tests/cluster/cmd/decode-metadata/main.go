// decode-metadata says of each file whether upstream's own reader of DeviceMetadata streams takes it.
//
// It prints one line a file: the file's name and "ok" with the devices' names, or "error" and
// upstream's words.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/dynamic-resource-allocation/api/metadata"
	"k8s.io/dynamic-resource-allocation/devicemetadata"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: decode-metadata FILE...")
		os.Exit(2)
	}
	for _, path := range os.Args[1:] {
		verdict, err := decode(path)
		if err != nil {
			// Upstream quotes the whole object in some of its words.
			words, _, _ := strings.Cut(err.Error(), " in '")
			verdict = "error " + words
		}
		fmt.Printf("%s %s\n", filepath.Base(path), verdict)
	}
}

func decode(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	var found metadata.DeviceMetadata
	if err := devicemetadata.DecodeMetadataFromStream(json.NewDecoder(file), &found); err != nil {
		return "", err
	}
	verdict := "ok"
	for _, request := range found.Requests {
		for _, device := range request.Devices {
			verdict += fmt.Sprintf(" %q", request.Name+"/"+device.Name)
		}
	}
	return verdict, nil
}
