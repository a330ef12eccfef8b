package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	awscrds "github.com/karpenter-anew/karpenter/api/aws/crds"
	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	"github.com/karpenter-anew/karpenter/api/legacy/v1alpha5"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	overlayv1 "github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/test/controlplane"
)

// startPatience limits the start of a cluster, whose programs may have to be read from a cold disk.
const startPatience = 2 * time.Minute

// testCluster is a running cluster with the CRDs installed. One test at a time uses it.
type testCluster struct {
	*clusterPool
	plane  *controlplane.ControlPlane
	client client.Client
	// up are flags for the launcher of the cluster.
	up []string
	// shared is the controller that the scenarios of this cluster share; nil when there is none.
	shared *sharedController
	// environment is what controllers find in theirs beside the usual.
	environment []string
}

// kubernetesMinor is the minor version of the control plane that tests run on, as its API server says.
func kubernetesMinor(t *testing.T) int {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kube-apiserver"), "--version").Output()
	if err != nil {
		t.Fatalf("asking the API server for its version: %v", err)
	}
	var minor int
	if _, err := fmt.Sscanf(string(out), "Kubernetes v1.%d", &minor); err != nil {
		t.Fatalf("the version of the API server is %q: %v", out, err)
	}
	return minor
}

// withoutTaintEviction leaves out the controller that evicts pods from nodes with NoExecute taints. It may see a pod on a node before it sees that
// the taint of nodes that are not registered is gone, and then deletes the pod: on a busy host that happens, and a test has a node more than it
// expects, or lost its pod. No test waits for such an eviction.
const withoutTaintEviction = "--controllers=*,-taint-eviction-controller"

// open starts the cluster if it does not run. One that has ended is started anew: the test that used it has failed.
func (l *testCluster) open(ctx context.Context) error {
	if ended, _ := l.ended(); ended {
		_ = l.close() // it was reported by the test that used the cluster
		l.plane, l.client, l.shared = nil, nil, nil
	}
	if l.client != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	plane, err := controlplane.Start(ctx, "", nil, append([]string{withoutTaintEviction}, l.up...)...)
	if err != nil {
		return err
	}
	c, err := connect(ctx, plane.Kubeconfig)
	if err != nil {
		return errors.Join(err, plane.Stop())
	}
	l.plane, l.client = plane, c
	return nil
}

// ended reports whether the control plane has ended while it was in use, and why.
func (l *testCluster) ended() (bool, error) {
	if l.plane == nil {
		return false, nil
	}
	select {
	case <-l.plane.Done():
		return true, l.plane.Err()
	default:
		return false, nil
	}
}

// connect returns a client of a cluster in which it has installed the definitions.
func connect(ctx context.Context, kubeconfig string) (client.Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	c, err := newClient(config)
	if err != nil {
		return nil, err
	}
	return c, define(ctx, c)
}

// close stops the controller and the cluster.
func (l *testCluster) close() error {
	if l.shared != nil {
		l.shared.end()
	}
	if l.plane == nil {
		return nil
	}
	return l.plane.Stop()
}

// newClient reads and writes all objects of tests, without a cache.
func newClient(config *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, v1.AddToScheme, overlayv1.AddToScheme, opsv1alpha1.AddToScheme, v1beta1.AddToScheme, awsv1.AddToScheme, v1alpha1.AddToScheme, v1alpha5.AddToScheme, apiextensionsv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return client.New(config, client.Options{Scheme: scheme})
}

// define installs the CRDs and waits until they are served.
func define(ctx context.Context, c client.Client) error {
	definitions, err := kwokcrds.Definitions()
	if err != nil {
		return err
	}
	ofAWS, err := awscrds.Definitions()
	if err != nil {
		return err
	}
	for _, d := range ofAWS {
		if d.Spec.Names.Kind == "EC2NodeClass" { // the others are there, restricted for simulated nodes
			definitions = append(definitions, d)
		}
	}
	for _, d := range definitions {
		if err := c.Create(ctx, d); err != nil {
			return fmt.Errorf("installing the definition %s: %w", d.Name, err)
		}
	}
	for _, list := range []client.ObjectList{&v1.NodePoolList{}, &v1.NodeClaimList{}, &overlayv1.NodeOverlayList{}, &opsv1alpha1.OperationsPolicyList{}, &v1alpha1.KWOKNodeClassList{}, &awsv1.EC2NodeClassList{}} {
		for {
			err := c.List(ctx, list)
			if err == nil {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("waiting until the definitions are served: %w", err)
			case <-time.After(pollPeriod):
			}
		}
	}
	return nil
}
