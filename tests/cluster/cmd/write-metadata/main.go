// write-metadata makes upstream's own library write device metadata files (KEP-5304).
//
// It starts the kubelet plugin library of k8s.io/dynamic-resource-allocation as a DRA driver does,
// serves it the claims as an API server would, and calls NodePrepareResources on its socket as the
// kubelet would. Then it does what a container runtime does with the CDI devices of the answer: each
// metadata file is put where the container would see it, below OUT/<scenario>/.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/dynamic-resource-allocation/api/metadata"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	drapb "k8s.io/kubelet/pkg/apis/dra/v1"
	cdi "tags.cncf.io/container-device-interface/specs-go"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: write-metadata OUT")
		os.Exit(2)
	}
	for _, scenario := range scenarios() {
		if err := run(context.Background(), scenario, filepath.Join(os.Args[1], scenario.name)); err != nil {
			fmt.Fprintf(os.Stderr, "write-metadata: %s: %v\n", scenario.name, err)
			os.Exit(1)
		}
	}
}

// run plays one scenario with a fresh plugin for each driver.
func run(ctx context.Context, scenario scenario, out string) error {
	work, err := os.MkdirTemp("", "write-metadata-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)

	server := httptest.NewServer(serve(scenario.claim))
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		return err
	}
	for _, driver := range scenario.drivers {
		if err := prepare(ctx, client, scenario, driver, work, out); err != nil {
			return fmt.Errorf("driver %s: %w", driver.name, err)
		}
	}
	return nil
}

// serve answers as an API server that has this one claim.
func serve(claim *resourceapi.ResourceClaim) http.Handler {
	path := fmt.Sprintf("/apis/resource.k8s.io/v1/namespaces/%s/resourceclaims/%s", claim.Namespace, claim.Name)
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		// The client sees a cut answer if this fails, and says so.
		_ = json.NewEncoder(w).Encode(claim)
	})
	return mux
}

// prepare starts the plugin of one driver, prepares the claim and puts the files into the container.
func prepare(ctx context.Context, client kubernetes.Interface, scenario scenario, driver driver, work, out string) error {
	data, cdiDir := filepath.Join(work, driver.name), filepath.Join(work, "cdi")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return err
	}
	helper, err := kubeletplugin.Start(ctx, driver,
		kubeletplugin.DriverName(driver.name),
		kubeletplugin.NodeName("worker-0"),
		kubeletplugin.KubeClient(client),
		kubeletplugin.PluginDataDirectoryPath(data),
		kubeletplugin.CDIDirectory(cdiDir),
		kubeletplugin.RegistrationService(false),
		kubeletplugin.EnableDeviceMetadata(true, scenario.versions),
	)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	defer helper.Stop()

	connection, err := grpc.NewClient("unix://"+filepath.Join(data, "dra.sock"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	claim := scenario.claim
	answer, err := drapb.NewDRAPluginClient(connection).NodePrepareResources(ctx, &drapb.NodePrepareResourcesRequest{
		Claims: []*drapb.Claim{{Namespace: claim.Namespace, Name: claim.Name, Uid: string(claim.UID)}},
	})
	if err != nil {
		return err
	}
	prepared := answer.Claims[string(claim.UID)]
	if prepared == nil || prepared.Error != "" {
		return fmt.Errorf("not prepared: %v", prepared)
	}
	if driver.update != nil {
		err := helper.UpdateRequestMetadata(ctx, claim.Namespace, claim.Name, claim.UID, driver.update[0].Requests[0], driver.update)
		if err != nil {
			return fmt.Errorf("update: %w", err)
		}
	}
	for _, device := range prepared.Devices {
		for _, id := range device.CdiDeviceIds {
			if err := inject(cdiDir, id, out); err != nil {
				return fmt.Errorf("CDI device %s: %w", id, err)
			}
		}
	}
	return nil
}

// inject copies what a CDI device would mount into a container whose metadata directory is out.
func inject(cdiDir, id, out string) error {
	kind, name, _ := strings.Cut(id, "=")
	specs, err := filepath.Glob(filepath.Join(cdiDir, "*.json"))
	if err != nil {
		return err
	}
	for _, path := range specs {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var spec cdi.Spec
		if err := json.Unmarshal(text, &spec); err != nil {
			return err
		}
		if spec.Kind != kind || spec.Devices[0].Name != name {
			continue
		}
		for _, mount := range spec.Devices[0].ContainerEdits.Mounts {
			below, err := filepath.Rel(metadata.ContainerDir, mount.ContainerPath)
			if err != nil {
				return err
			}
			if err := copyFile(mount.HostPath, filepath.Join(out, below)); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("no CDI spec has it")
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}

// driver is a DRA driver that has prepared its devices already.
type driver struct {
	name string
	// devices is what NodePrepareResources finds.
	devices []kubeletplugin.Device
	// update is what becomes known later; nil for nothing.
	update []kubeletplugin.Device
}

var _ kubeletplugin.DRAPlugin = driver{}

func (d driver) PrepareResourceClaims(_ context.Context, claims []*resourceapi.ResourceClaim) (map[types.UID]kubeletplugin.PrepareResult, error) {
	results := map[types.UID]kubeletplugin.PrepareResult{}
	for _, claim := range claims {
		results[claim.UID] = kubeletplugin.PrepareResult{Devices: d.devices}
	}
	return results, nil
}

func (d driver) UnprepareResourceClaims(context.Context, []kubeletplugin.NamespacedObject) (map[types.UID]error, error) {
	return nil, nil
}

func (d driver) WatchHealthStatus(context.Context, chan<- kubeletplugin.DeviceHealthReport) error {
	return kubeletplugin.ErrHealthNotSupported
}

func (d driver) HandleError(_ context.Context, err error, what string) {
	fmt.Fprintf(os.Stderr, "write-metadata: driver %s: %s: %v\n", d.name, what, err)
}

// claim makes an allocated claim; podClaim is the pod's name for one that is made from a template.
func claim(name, uid, podClaim string) *resourceapi.ResourceClaim {
	claim := &resourceapi.ResourceClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "ResourceClaim"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(uid)},
		Status:     resourceapi.ResourceClaimStatus{Allocation: &resourceapi.AllocationResult{}},
	}
	if podClaim != "" {
		claim.Annotations = map[string]string{resourceapi.PodResourceClaimAnnotation: podClaim}
	}
	return claim
}
