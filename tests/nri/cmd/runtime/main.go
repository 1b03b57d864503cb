// runtime is the part of containerd that asks NRI plugins, upstream's own library, without the rest of it: it creates
// the container of a VM and that of another pod again and again, and prints how long each took, in nanoseconds.
//
// It serves rounds: with a line on standard input it asks so many times, and prints one JSON object.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/nri/pkg/adaptation"
	"google.golang.org/protobuf/proto"
)

type round struct {
	VM           []int64 `json:"vm"`
	Foreign      []int64 `json:"foreign"`
	Hooks        int     `json:"hooks"`
	RequestBytes int     `json:"requestBytes"`
}

func main() {
	socket := flag.String("socket", "", "the socket for plugins")
	plugin := flag.Bool("plugin", false, "wait for a plugin")
	flag.Parse()
	if err := serve(*socket, *plugin); err != nil {
		fmt.Fprintf(os.Stderr, "runtime: %v\n", err)
		os.Exit(1)
	}
}

func serve(socket string, plugin bool) error {
	synchronized := make(chan struct{}, 1)
	runtime, err := adaptation.New("benchmark", "1.0.0",
		func(ctx context.Context, callback adaptation.SyncCB) error {
			_, err := callback(ctx, nil, nil)
			synchronized <- struct{}{}
			return err
		},
		func(context.Context, []*adaptation.ContainerUpdate) ([]*adaptation.ContainerUpdate, error) {
			return nil, nil
		},
		adaptation.WithSocketPath(socket), adaptation.WithPluginPath(socket+".none"), adaptation.WithPluginConfigPath(socket+".none"),
	)
	if err != nil {
		return err
	}
	if err := runtime.Start(); err != nil {
		return err
	}
	defer runtime.Stop()
	// At its start it synchronizes plugins that it has started itself, of which there are none.
	<-synchronized
	if plugin {
		<-synchronized
		// The plugin counts once its synchronization is over.
		time.Sleep(200 * time.Millisecond)
	}
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		count, err := strconv.Atoi(strings.TrimSpace(input.Text()))
		if err != nil {
			return err
		}
		result, err := ask(runtime, count)
		if err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
			return err
		}
	}
	return input.Err()
}

func ask(runtime *adaptation.Adaptation, count int) (*round, error) {
	result := &round{}
	for number := range count {
		for _, vm := range []bool{true, false} {
			request := request(number, vm)
			result.RequestBytes = proto.Size(request)
			begun := time.Now()
			answer, err := runtime.CreateContainer(context.Background(), request)
			took := time.Since(begun).Nanoseconds()
			if err != nil {
				return nil, err
			}
			if vm {
				result.VM = append(result.VM, took)
				result.Hooks += len(answer.GetAdjust().GetHooks().GetCreateContainer())
			} else {
				result.Foreign = append(result.Foreign, took)
			}
			// As a runtime does at the container's end, which plugins that remember it wait for.
			removal := &adaptation.RemoveContainerRequest{Pod: request.Pod, Container: request.Container}
			if err := runtime.RemoveContainer(context.Background(), removal); err != nil {
				return nil, err
			}
		}
	}
	return result, nil
}

// request is about as large as containerd's for a virt-launcher pod.
func request(number int, vm bool) *adaptation.CreateContainerRequest {
	pod := &adaptation.PodSandbox{
		Id: fmt.Sprintf("%064x", number), Name: "virt-launcher-vm-x7k2p", Namespace: "default",
		Uid: "5f0c9a34-5f0e-4d6a-8a3e-3f9c1e9d1b52", RuntimeHandler: "runc",
		Labels: many("label.example.com/key", 12), Annotations: many("annotation.example.com/key", 20),
		Linux: &adaptation.LinuxPodSandbox{CgroupParent: "/kubepods/burstable/pod5f0c9a34"},
	}
	container := &adaptation.Container{
		Id: fmt.Sprintf("%064x", number+1<<32), PodSandboxId: pod.Id, Name: "istio-proxy",
		Labels: many("label.example.com/key", 6), Annotations: many("annotation.example.com/key", 12),
		Args: []string{"/usr/bin/virt-launcher-monitor", "--qemu-timeout", "300s", "--name", "vm", "--namespace", "default"},
		Linux: &adaptation.LinuxContainer{
			Resources:   &adaptation.LinuxResources{Cpu: &adaptation.LinuxCPU{Cpus: "0-3"}, Memory: &adaptation.LinuxMemory{}},
			CgroupsPath: "/kubepods/burstable/pod5f0c9a34/c",
			Namespaces:  []*adaptation.LinuxNamespace{{Type: "pid"}, {Type: "ipc"}, {Type: "uts"}, {Type: "mount"}, {Type: "network", Path: "/proc/1/ns/net"}},
			OomScoreAdj: adaptation.Int(985),
		},
	}
	for key, value := range many("VARIABLE", 30) {
		container.Env = append(container.Env, key+"="+value)
	}
	for key := range many("/var/run/kubevirt-private/mount", 22) {
		container.Mounts = append(container.Mounts, &adaptation.Mount{Destination: key, Type: "bind",
			Source:  "/var/lib/kubelet/pods/5f0c9a34-5f0e-4d6a-8a3e-3f9c1e9d1b52/volumes/kubernetes.io~empty-dir" + key,
			Options: []string{"rbind", "rprivate", "rw"}})
	}
	if vm {
		pod.Labels["kubevirt.io"] = "virt-launcher"
		container.Name = "compute"
		for destination, source := range map[string]string{
			"/var/run/device-attributes": "volumes/kubernetes.io~empty-dir/dra-guest-vm-mount",
			"/var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/nic/vf/sriov.example.com-metadata.json": "metadata.json",
		} {
			container.Mounts = append(container.Mounts, &adaptation.Mount{Destination: destination, Type: "bind",
				Source: "/var/lib/kubelet/pods/5f0c9a34-5f0e-4d6a-8a3e-3f9c1e9d1b52/" + source, Options: []string{"rbind"}})
		}
	}
	return &adaptation.CreateContainerRequest{Pod: pod, Container: container}
}

func many(prefix string, count int) map[string]string {
	all := map[string]string{}
	for number := range count {
		all[fmt.Sprintf("%s-%d", prefix, number)] = fmt.Sprintf("a value of usual length, number %d", number)
	}
	return all
}
