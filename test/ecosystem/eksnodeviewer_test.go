package ecosystem

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/awslabs/eks-node-viewer/pkg/aws"
	viewer "github.com/awslabs/eks-node-viewer/pkg/client"
	"github.com/awslabs/eks-node-viewer/pkg/model"
	tea "github.com/charmbracelet/bubbletea"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

// patience is how long a test waits for a state.
const patience = time.Minute

// TestEKSNodeViewer runs the clients, the watches and the table of eks-node-viewer beside the controller in a cluster in memory, with the
// instance types and prices of EC2. It shows nodes from their launch to their end.
func TestEKSNodeViewer(t *testing.T) {
	kubeconfig := demo(t)
	cluster, err := viewer.NewKubernetes(kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	nodeClaims, err := viewer.NewNodeClaims(kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	style, err := model.ParseStyle("#04B575,#FFFF00,#FF0000")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_REGION", "us-east-1")
	table := model.NewUIModel([]string{"karpenter.sh/nodepool", "topology.kubernetes.io/zone"}, "creation", style)
	table.Update(tea.WindowSizeMsg{Height: 40, Width: 200})
	prices := aws.NewStaticPricingProvider()
	viewer.NewController(cluster, nodeClaims, table, labels.Everything(), prices).Start(t.Context())

	apply(t, cluster, "/apis/karpenter.sh/v1/nodepools", "../../examples/kwok/nodepool.yaml")
	for _, capacityType := range []string{"on-demand", "spot"} {
		if _, err := cluster.AppsV1().Deployments("default").Create(t.Context(), deployment(capacityType), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "two nodes that run one pod each", table, func(nodes []*model.Node) bool {
		return len(nodes) == 2 && nodes[0].Ready() && nodes[1].Ready() && nodes[0].NumPods() == 1 && nodes[1].NumPods() == 1
	})
	stats := table.Cluster().Stats()
	for _, n := range stats.Nodes {
		live, err := cluster.CoreV1().Nodes().Get(t.Context(), n.Name(), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if n.InstanceType() != "m5.large" || n.Zone() != live.Labels[corev1.LabelTopologyZone] || n.ProviderID() != live.Spec.ProviderID || n.IsOnDemand() == n.IsSpot() {
			t.Errorf("node %s: type %s, zone %s, provider ID %s, on-demand %t, spot %t", n.Name(), n.InstanceType(), n.Zone(), n.ProviderID(), n.IsOnDemand(), n.IsSpot())
		}
		// The simulated cloud writes the price into a label that eks-node-viewer prefers to its own prices; AWS has no such label.
		label, err := strconv.ParseFloat(live.Labels["eks-node-viewer/instance-price"], 64)
		if err != nil || n.Price != label {
			t.Errorf("node %s costs %v, and %v by its label, %v", n.Name(), n.Price, label, err)
		}
		if compiled, ok := prices.NodePrice(n); ok != n.IsOnDemand() || ok && compiled != label {
			t.Errorf("node %s costs %v by the prices of eks-node-viewer, %t; its label has %v", n.Name(), compiled, ok, label)
		}
	}
	shown := table.View()
	t.Logf("\n%s", shown)
	for _, want := range []string{`2 nodes +\(`, `2 pods \(0 pending 2 running 2 bound\)`, `m5.large/\$0.0960 On-Demand - +Ready default us-east-1.`, `m5.large/\$0.0\d+ +Spot +- +Ready default us-east-1.`} {
		if !regexp.MustCompile(want).MatchString(shown) {
			t.Errorf("the table lacks %q", want)
		}
	}

	// The pods must not be disrupted: their nodes stay tainted and deleted until the pods are gone.
	if err := nodeClaims.Delete().Resource("nodeclaims").VersionedParams(&metav1.DeleteOptions{}, metav1.ParameterCodec).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	await(t, "two nodes that are being deleted", table, func(nodes []*model.Node) bool {
		return len(nodes) == 2 && nodes[0].Deleting() && nodes[1].Deleting()
	})
	t.Logf("\n%s", table.View())
	if err := cluster.AppsV1().Deployments("default").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "no nodes", table, func(nodes []*model.Node) bool { return len(nodes) == 0 })
}

// await polls until the nodes of the table are as wanted.
func await(t *testing.T, what string, table *model.UIModel, are func([]*model.Node) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		return are(table.Cluster().Stats().Nodes), nil
	})
	if err != nil {
		t.Fatalf("waited %s for %s; last seen:\n%s", patience, what, table.View())
	}
}

// deployment has one pod that needs a node of a capacity type, and that must not be disrupted.
func deployment(capacityType string) *appsv1.Deployment {
	app := map[string]string{"app": capacityType}
	pod := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: app, Annotations: map[string]string{"karpenter.sh/do-not-disrupt": "true"}},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"karpenter.sh/capacity-type": capacityType, corev1.LabelInstanceTypeStable: "m5.large"},
			Containers: []corev1.Container{{Name: "main", Image: "pause", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: quantity.MustParse("1")},
			}}},
		},
	}
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: capacityType}, Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: app}, Template: pod}}
}

// apply creates the object of a file.
func apply(t *testing.T, cluster *kubernetes.Clientset, path, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		text, err = yaml.YAMLToJSON(text)
	}
	if err == nil {
		err = cluster.RESTClient().Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body(text).Do(t.Context()).Error()
	}
	if err != nil {
		t.Fatalf("creating the object of %s: %v", file, err)
	}
}

// demo starts a cluster in memory with the controller, and returns the kubeconfig. It is not part of this module: the dependencies of
// other tools have different versions.
func demo(t *testing.T) (kubeconfig string) {
	t.Helper()
	program := os.Getenv("KARPENTER_BIN")
	if program == "" {
		program = filepath.Join(t.TempDir(), "karpenter")
		build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/karpenter")
		build.Dir = "../.."
		if text, err := build.CombinedOutput(); err != nil {
			t.Fatalf("building the binary: %v\n%s", err, text)
		}
	}
	run := exec.Command(program, "demo", "--stay", "--catalog=aws/us-east-1", "--log="+filepath.Join(t.TempDir(), "log"))
	out := &firstMatch{pattern: regexp.MustCompile(`export KUBECONFIG=(\S+)`), found: make(chan string, 1)}
	run.Stdout, run.Stderr = out, out
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	t.Cleanup(func() {
		_ = run.Process.Signal(syscall.SIGINT)
		if err := <-ended; err != nil {
			t.Errorf("karpenter demo: %v\n%s", err, out.text.String())
		}
	})
	select {
	case kubeconfig = <-out.found:
	case err := <-ended:
		ended <- err
		t.Fatalf("karpenter demo ended: %v", err)
	case <-time.After(patience):
		t.Fatalf("karpenter demo has printed no KUBECONFIG in %s", patience)
	}
	return kubeconfig
}

// firstMatch sends the first submatch of what is written.
type firstMatch struct {
	pattern *regexp.Regexp
	found   chan string
	text    strings.Builder
}

var _ io.Writer = &firstMatch{}

func (f *firstMatch) Write(p []byte) (int, error) {
	f.text.Write(p)
	if match := f.pattern.FindStringSubmatch(f.text.String()); match != nil {
		select {
		case f.found <- match[1]:
		default:
		}
	}
	return len(p), nil
}
