package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
)

// device is one entry of the file.
type device struct {
	Name        string                                                    `json:"name"`
	Attributes  map[resourceapi.QualifiedName]resourceapi.DeviceAttribute `json:"attributes"`
	NetworkData *resourceapi.NetworkDeviceData                            `json:"networkData"`
}

// driver prepares nothing on the node: all that its devices need is in the file.
type driver struct {
	name       string
	cdiDevices []string
	fail       context.CancelCauseFunc

	// The kubelet asks while a signal has the file read anew.
	mutex    sync.Mutex
	devices  []device
	prepared map[types.UID]*resourceapi.ResourceClaim
}

var _ kubeletplugin.DRAPlugin = &driver{}

func (d *driver) PrepareResourceClaims(_ context.Context, claims []*resourceapi.ResourceClaim) (map[types.UID]kubeletplugin.PrepareResult, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	results := map[types.UID]kubeletplugin.PrepareResult{}
	for _, claim := range claims {
		var result kubeletplugin.PrepareResult
		result.Devices, result.Err = d.prepare(claim)
		if result.Err == nil {
			d.prepared[claim.UID] = claim
		}
		results[claim.UID] = result
	}
	return results, nil
}

func (d *driver) prepare(claim *resourceapi.ResourceClaim) ([]kubeletplugin.Device, error) {
	var prepared []kubeletplugin.Device
	for _, result := range claim.Status.Allocation.Devices.Results {
		if result.Driver != d.name {
			continue
		}
		device, err := d.find(result.Device)
		if err != nil {
			return nil, err
		}
		metadata := &kubeletplugin.DeviceMetadata{Attributes: map[string]resourceapi.DeviceAttribute{}, NetworkData: device.NetworkData}
		for name, value := range device.Attributes {
			metadata.Attributes[string(name)] = value
		}
		prepared = append(prepared, kubeletplugin.Device{
			Requests: []string{result.Request}, PoolName: result.Pool, DeviceName: result.Device,
			CDIDeviceIDs: d.cdiDevices, Metadata: metadata,
		})
	}
	return prepared, nil
}

// update tells the metadata files of what is prepared what the file of devices says now, as a driver of
// the field does that learns of addresses late. It raises their generation.
func (d *driver) update(ctx context.Context, helper *kubeletplugin.Helper, path string) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if err := d.read(path); err != nil {
		return err
	}
	for _, claim := range d.prepared {
		devices, err := d.prepare(claim)
		if err != nil {
			return err
		}
		byRequest := map[string][]kubeletplugin.Device{}
		for _, device := range devices {
			byRequest[device.Requests[0]] = append(byRequest[device.Requests[0]], device)
		}
		for request, devices := range byRequest {
			if err := helper.UpdateRequestMetadata(ctx, claim.Namespace, claim.Name, claim.UID, request, devices); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *driver) find(name string) (*device, error) {
	for index := range d.devices {
		if d.devices[index].Name == name {
			return &d.devices[index], nil
		}
	}
	return nil, fmt.Errorf("the scheduler has allocated %s, which is not in the list of devices", name)
}

func (d *driver) UnprepareResourceClaims(_ context.Context, claims []kubeletplugin.NamespacedObject) (map[types.UID]error, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	results := map[types.UID]error{}
	for _, claim := range claims {
		delete(d.prepared, claim.UID)
		results[claim.UID] = nil
	}
	return results, nil
}

// WatchHealthStatus is not called: the service is off.
func (d *driver) WatchHealthStatus(context.Context, chan<- kubeletplugin.DeviceHealthReport) error {
	return kubeletplugin.ErrHealthNotSupported
}

// fatal is an error that ends the driver.
type fatal struct{ error }

func (d *driver) HandleError(_ context.Context, err error, what string) {
	if errors.Is(err, kubeletplugin.ErrRecoverable) {
		fmt.Fprintf(os.Stderr, "dra-driver: %s: %v\n", what, err)
		return
	}
	d.fail(fatal{fmt.Errorf("%s: %w", what, err)})
}
