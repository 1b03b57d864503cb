package main

import (
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/dynamic-resource-allocation/api/metadata/v1alpha1"
	"k8s.io/dynamic-resource-allocation/api/metadata/v1beta1"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
)

// scenario is one claim, prepared for one container.
type scenario struct {
	name     string
	versions []schema.GroupVersion
	claim    *resourceapi.ResourceClaim
	drivers  []driver
}

const (
	sriov = "sriov.example.com"
	gpu   = "gpu.example.com"
)

type attributes = map[string]resourceapi.DeviceAttribute

func scenarios() []scenario {
	both := []schema.GroupVersion{v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion}
	oldFirst := []schema.GroupVersion{v1alpha1.SchemeGroupVersion, v1beta1.SchemeGroupVersion}
	newOnly := []schema.GroupVersion{v1beta1.SchemeGroupVersion}
	templated := func() *resourceapi.ResourceClaim {
		return claim("vm-nic-7xk2p", "c7e7b22e-239b-4498-b27c-7f1344481e14", "nic")
	}
	direct := func(name string) *resourceapi.ResourceClaim {
		return claim(name, "0b6cfd6e-3a6e-4a52-8d6c-2f1a7e5c9b10", "")
	}
	nic := device("vf", "0000-3b-02-1", network())
	return []scenario{
		{"template-claim", both, templated(), []driver{{sriov, nic, nil}}},
		{"deferred-metadata", both, templated(), []driver{{sriov, device("vf", "0000-3b-02-1", nil), nil}}},
		{"updated-metadata", both, templated(), []driver{{sriov, device("vf", "0000-3b-02-1", nil), nic}}},
		{"direct-claim", both, direct("shared-nic"), []driver{{sriov, nic, nil}}},
		{"v1beta1-only", newOnly, direct("shared-nic"), []driver{{sriov, nic, nil}}},
		{"v1alpha1-first", oldFirst, direct("shared-nic"), []driver{{sriov, nic, nil}}},
		{"every-kind-of-value", both, direct("sample"), []driver{{gpu, device("all", "gpu-0", everyKind()), nil}}},
		{"subrequest", both, direct("accelerators"), []driver{{gpu, append(
			device("gpu/high-memory", "gpu-1", accelerator("0000:65:00.0")),
			device("gpu/high-memory", "gpu-0", accelerator("0000:17:00.0"))...), nil}}},
		{"two-drivers", both, direct("pair"), []driver{
			{sriov, device("both", "0000-3b-02-1", network()), nil},
			{gpu, device("both", "gpu-0", accelerator("0000:17:00.0")), nil}}},
	}
}

func device(request, name string, metadata *kubeletplugin.DeviceMetadata) []kubeletplugin.Device {
	return []kubeletplugin.Device{{
		Requests: []string{request}, PoolName: "worker-0", DeviceName: name, Metadata: metadata,
	}}
}

func network() *kubeletplugin.DeviceMetadata {
	return &kubeletplugin.DeviceMetadata{
		Attributes: attributes{
			"resource.kubernetes.io/pciBusID": {StringValue: new("0000:3b:02.1")},
			"resource.kubernetes.io/pcieRoot": {StringValue: new("pci0000:3a")},
			"dra.net/numaNode":                {IntValue: new(int64(1))},
			"sriov.example.com/pciAddress":    {StringValue: new("0000:3b:02.1")},
		},
		NetworkData: &resourceapi.NetworkDeviceData{
			InterfaceName:   "net1",
			IPs:             []string{"192.0.2.5/24", "2001:db8::5/64"},
			HardwareAddress: "02:00:00:4e:92:87",
		},
	}
}

func accelerator(address string) *kubeletplugin.DeviceMetadata {
	return &kubeletplugin.DeviceMetadata{Attributes: attributes{
		"resource.kubernetes.io/pciBusID": {StringValue: &address},
		"resource.kubernetes.io/numaNode": {IntValues: []int64{0, 1}},
		"model":                           {StringValue: new("example")},
		"driverVersion":                   {VersionValue: new("1.0.0")},
	}}
}

func everyKind() *kubeletplugin.DeviceMetadata {
	return &kubeletplugin.DeviceMetadata{Attributes: attributes{
		"int":      {IntValue: new(int64(-3))},
		"bool":     {BoolValue: new(false)},
		"string":   {StringValue: new("text")},
		"version":  {VersionValue: new("1.2.3-rc.1")},
		"ints":     {IntValues: []int64{2, 1}},
		"bools":    {BoolValues: []bool{true, false}},
		"strings":  {StringValues: []string{"b", "a"}},
		"versions": {VersionValues: []string{"1.0.0", "2.0.0"}},
	}}
}
