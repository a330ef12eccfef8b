package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
)

// TestSnapshotsPredictLaunchesOnAWS captures snapshots of a cluster on AWS with pending pods, plain and redacted, simulates the launches and
// prices, and then lets the controller launch. Region and cloud are not given: the class determines them.
func TestSnapshotsPredictLaunchesOnAWS(t *testing.T) {
	t.Parallel()
	w := begin(t)
	a := w.account("m5.large", "m5.xlarge", "c5.large")
	first := w.controller(a.Flags()...)
	const name = "confidential-shop"
	data := "#!/bin/bash\necho top-secret"
	class := awsClass(name, func(c *awsv1.EC2NodeClass) {
		c.Spec.SubnetSelectorTerms = []awsv1.SubnetSelectorTerm{{ID: "subnet-b1"}}
		c.Spec.UserData, c.Spec.Tags = &data, map[string]string{"team": "confidential-search"}
		c.Spec.Kubelet = kubeletOf(map[string]any{"kubeReserved": map[string]string{"cpu": "500m"}})
	})
	pool := awsPool(name, []string{"m5.large", "m5.xlarge"}, func(p *v1.NodePool) {
		p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, in(awsv1.LabelInstanceFamily, "m5", "c5"))
	})
	// By what the kubelet leaves of an m5.large, one of these fits.
	pods := awsPods(name, 1, apart(name), func(d *corev1.PodTemplateSpec) {
		d.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("1450m")
	})
	w.create(class, pool, pods)
	w.awaitCases(map[string]int32{name: 1})
	node := w.onlyNode(a, name)

	w.must(first.Kill())
	const more = 3
	w.scale(pods, 1+more)
	w.awaitRefused(more)

	dir := t.TempDir()
	plain, redacted := filepath.Join(dir, "cluster.yaml"), filepath.Join(dir, "redacted.yaml")
	w.tool(0, "snapshot", "--kubeconfig", w.plane.Kubeconfig, "-o", plain)
	w.tool(0, "snapshot", "--kubeconfig", w.plane.Kubeconfig, "--redact", "-o", redacted)
	w.checkWhatIsShown(plain, []string{"kind: EC2NodeClass", "id: subnet-b1", "zoneID: use1-az2", "role: " + awstest.Role, "team: confidential-search"}, "top-secret|managedFields")
	w.checkWhatIsShown(redacted, nil, "top-secret|confidential|subnet-b1|"+awstest.Role+"|"+awstest.AccountID)
	want := slices.Repeat([]string{"m5.large"}, more)
	for _, file := range []string{plain, redacted} {
		report, _ := w.tool(0, "simulate", "--snapshot", file, "-o", "json")
		if got := w.planned(report); !slices.Equal(got, want) || !strings.Contains(report, `"us-east-1b"`) || strings.Contains(report, `"us-east-1a"`) {
			t.Errorf("of %s %q would be launched, want %q in us-east-1b\n%s", filepath.Base(file), got, want, report)
		}
	}
	if answer, _ := w.tool(0, "explain", "node", node.Name, "--snapshot", plain); !strings.Contains(answer, "costs $0.0960/h") {
		t.Errorf("of the node is said:\n%s", answer)
	}
	w.controller(a.Flags()...)
	w.awaitCases(map[string]int32{name: 1 + more})
	nodes := w.nodesOf(a, name)
	if len(nodes) != 1+more {
		t.Errorf("%d nodes, want %d", len(nodes), 1+more)
	}
	for _, n := range nodes {
		if n.instance.Type != "m5.large" || n.instance.Zone != "us-east-1b" {
			t.Errorf("launched %s in %s", n.instance.Type, n.instance.Zone)
		}
	}
}

// checkWhatIsShown looks whether a file has these texts, and nothing that the pattern matches.
func (w *harness) checkWhatIsShown(file string, texts []string, never string) {
	w.t.Helper()
	text, err := os.ReadFile(file)
	w.must(err)
	for _, want := range texts {
		if !strings.Contains(string(text), want) {
			w.t.Errorf("%s does not say %q", filepath.Base(file), want)
		}
	}
	if found := regexp.MustCompile(".*(" + never + ").*").Find(text); found != nil {
		w.t.Errorf("%s shows %q", filepath.Base(file), found)
	}
}
