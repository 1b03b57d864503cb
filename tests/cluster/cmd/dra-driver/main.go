// dra-driver is a DRA driver on upstream's own kubelet plugin library, for devices that a file lists.
//
// It publishes them as a ResourceSlice of its node. What the kubelet prepares gets metadata files, which
// the library writes (KEP-5304), and the CDI devices that the command line names, for a hook that a
// driver of the field would ask for in the same way. On SIGHUP it reads the file anew, and the metadata of
// what is prepared follows. It ends on SIGTERM.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/dynamic-resource-allocation/api/metadata/v1alpha1"
	"k8s.io/dynamic-resource-allocation/api/metadata/v1beta1"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	node := flag.String("node", "", "the name of the node, and of the pool")
	name := flag.String("driver", "", "the name of the driver")
	devices := flag.String("devices", "", "a JSON file with a list of {name, attributes, networkData}, in the words of resource.k8s.io/v1")
	kubelet := flag.String("kubelet", "", "the kubelet's root directory")
	cdi := flag.String("cdi", "", "the directory for CDI specs")
	cdiDevices := flag.String("cdi-devices", "", "CDI devices for each device, separated by commas")
	metadata := flag.Bool("metadata", true, "write metadata files of what is prepared")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, fail := context.WithCancelCause(ctx)
	driver := driver{name: *name, cdiDevices: split(*cdiDevices), fail: fail, prepared: map[types.UID]*resourceapi.ResourceClaim{}}
	err := driver.read(*devices)
	if err == nil {
		err = driver.serve(ctx, *kubeconfig, *node, *kubelet, *cdi, *devices, *metadata)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "dra-driver: %v\n", err)
		os.Exit(1)
	}
}

func split(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// read takes the list of devices.
func (d *driver) read(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var devices []device
	if err := json.Unmarshal(text, &devices); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	d.devices = devices
	return nil
}

// serve is the driver until ctx ends, and says why it did if that was not by a signal.
func (d *driver) serve(ctx context.Context, kubeconfig, node, kubelet, cdi, list string, metadata bool) error {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	data := filepath.Join(kubelet, "plugins", d.name)
	if err := os.MkdirAll(data, 0o750); err != nil {
		return err
	}
	helper, err := kubeletplugin.Start(ctx, d,
		kubeletplugin.DriverName(d.name),
		kubeletplugin.NodeName(node),
		kubeletplugin.KubeClient(client),
		kubeletplugin.RegistrarDirectoryPath(filepath.Join(kubelet, "plugins_registry")),
		kubeletplugin.PluginDataDirectoryPath(data),
		kubeletplugin.CDIDirectory(cdi),
		kubeletplugin.HealthService(false),
		kubeletplugin.EnableDeviceMetadata(metadata, []schema.GroupVersion{v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion}),
	)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	defer helper.Stop()

	var slice resourceslice.Slice
	for _, device := range d.devices {
		slice.Devices = append(slice.Devices, resourceapi.Device{Name: device.Name, Attributes: device.Attributes})
	}
	pool := resourceslice.Pool{Slices: []resourceslice.Slice{slice}}
	if err := helper.PublishResources(ctx, resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{node: pool}}); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	for {
		select {
		case <-hangup:
			if err := d.update(ctx, helper, list); err != nil {
				return fmt.Errorf("update: %w", err)
			}
		case <-ctx.Done():
			if cause := context.Cause(ctx); errors.As(cause, new(fatal)) {
				return cause
			}
			return nil
		}
	}
}
