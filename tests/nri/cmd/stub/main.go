// stub is a plugin on upstream's own library that does what dra-guest-nri does when a container is created: it looks
// for the virt-launcher container with metadata of DRA devices and a VM mount, and adds the hook. The benchmark's peer.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/stub"
)

const (
	metadata = "/var/run/kubernetes.io/dra-device-attributes/"
	vmMount  = "/var/run/device-attributes"
)

type plugin struct{}

func (plugin) CreateContainer(_ context.Context, pod *api.PodSandbox, container *api.Container) (*api.ContainerAdjustment, []*api.ContainerUpdate, error) {
	if container.Name != "compute" || pod.Labels["kubevirt.io"] != "virt-launcher" || pod.Annotations["dra-guest/nri"] == "off" {
		return nil, nil, nil
	}
	for _, hook := range container.GetHooks().GetCreateContainer() {
		if filepath.Base(hook.Path) == "dra-cdi-hook" {
			return nil, nil, nil
		}
	}
	var hasMetadata, hasMount bool
	for _, mount := range container.Mounts {
		hasMetadata = hasMetadata || strings.HasPrefix(mount.Destination, metadata)
		hasMount = hasMount || mount.Destination == vmMount
	}
	if !hasMetadata || !hasMount {
		return nil, nil, nil
	}
	adjust := &api.ContainerAdjustment{}
	adjust.AddHooks(&api.Hooks{CreateContainer: []*api.Hook{{
		Path: "/usr/local/bin/dra-cdi-hook", Args: []string{"dra-cdi-hook", "create-container", "--vm-mount=" + vmMount},
		Env: []string{"DRA_GUEST_LOG=info"}, Timeout: api.Int(10),
	}}})
	return adjust, nil, nil
}

// RemoveContainer is subscribed to, as dra-guest-nri is.
func (plugin) RemoveContainer(context.Context, *api.PodSandbox, *api.Container) error { return nil }

func main() {
	socket := flag.String("socket", "", "the runtime's socket for plugins")
	flag.Parse()
	made, err := stub.New(plugin{}, stub.WithPluginName("stub"), stub.WithPluginIdx("90"), stub.WithSocketPath(*socket))
	if err == nil {
		err = made.Run(context.Background())
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "stub: %v\n", err)
		os.Exit(1)
	}
}
