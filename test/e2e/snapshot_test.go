package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// tool runs the binary as a tool, fails the test unless it exits with the code, and returns what it printed.
func (w *harness) tool(code int, args ...string) (stdout, stderr string) {
	w.t.Helper()
	cmd := exec.Command(w.binary, args...)
	var errText strings.Builder
	cmd.Stderr = &errText
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		w.t.Fatalf("karpenter %s exits with %d, want %d\n%s%s", strings.Join(args, " "), got, code, out, errText.String())
	}
	return string(out), errText.String()
}

// planned are the instance types that a simulation launches, sorted, each as often as it is launched.
func (w *harness) planned(report string) []string {
	w.t.Helper()
	var r struct {
		Launches []struct {
			Count        int
			InstanceType string
		}
	}
	w.must(json.Unmarshal([]byte(report), &r))
	var out []string
	for _, l := range r.Launches {
		for range l.Count {
			out = append(out, l.InstanceType)
		}
	}
	slices.Sort(out)
	return out
}

// awaitRefused waits until the scheduler has found no place for this many pods.
func (w *harness) awaitRefused(pods int) {
	w.t.Helper()
	w.await(fmt.Sprintf("the scheduler has found no place for %d pods", pods), patience, func() string {
		waiting := 0
		for _, pod := range w.pods() {
			if slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Reason == corev1.PodReasonUnschedulable }) {
				waiting++
			}
		}
		if waiting != pods {
			return fmt.Sprintf("%d", waiting)
		}
		return ""
	})
}

// TestSnapshotsPredictLaunches captures a snapshot of a cluster with pending pods, simulates the launches, also with the redacted
// snapshot, and then lets the controller launch.
func TestSnapshotsPredictLaunches(t *testing.T) {
	t.Parallel()
	w := begin(t)
	onDemand := func(p *v1.NodePool) {
		p.Spec.Template.Labels = map[string]string{"example.com/team": "confidential-search"}
		p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, in(v1.CapacityTypeLabelKey, "on-demand"))
	}
	ours := func(d *corev1.PodTemplateSpec) {
		d.Spec.NodeSelector = map[string]string{"example.com/team": "confidential-search"}
		d.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "PASSWORD", Value: "top-secret"}}
		d.Annotations = map[string]string{"note": "top-secret"}
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "top-secret"}}
	w.create(class(), pool(onDemand), secret, deployment("confidential-web", 3, "1500m", ours), deployment("confidential-db", 1, "7", ours))
	defer w.delete(secret)
	w.awaitRefused(4)

	dir := t.TempDir()
	plain, redacted := filepath.Join(dir, "cluster.yaml"), filepath.Join(dir, "redacted.yaml.gz")
	_, summary := w.tool(0, "snapshot", "--kubeconfig", w.plane.Kubeconfig, "-o", plain)
	if !strings.Contains(summary, "1 NodePool") || !strings.Contains(summary, "4 Pod") {
		t.Errorf("the summary reads %q", summary)
	}
	w.tool(0, "snapshot", "--kubeconfig", w.plane.Kubeconfig, "--redact", "-o", redacted)
	text, err := os.ReadFile(plain)
	w.must(err)
	if found := regexp.MustCompile(`.*(top-secret|kind: Secret|managedFields|image:).*`).Find(text); found != nil {
		t.Errorf("the snapshot shows %q", found)
	}
	text, err = exec.Command("gzip", "-dc", redacted).Output()
	w.must(err)
	if found := regexp.MustCompile(`.*(confidential|top-secret).*`).Find(text); found != nil || len(text) == 0 {
		t.Errorf("the redacted snapshot of %d bytes shows %q", len(text), found)
	}

	foretold, _ := w.tool(0, "simulate", "--snapshot", plain, "-o", "json")
	want := w.planned(foretold)
	if len(want) == 0 {
		t.Fatalf("nothing would be launched:\n%s", foretold)
	}
	if report, _ := w.tool(0, "simulate", "--snapshot", redacted, "-o", "json"); !slices.Equal(w.planned(report), want) {
		t.Errorf("of the redacted snapshot %q would be launched, of the plain one %q", w.planned(report), want)
	}
	w.controller()
	w.awaitLaunched(want...)
	w.awaitRunning(4)
	// Now that every pod is placed, no further launch is simulated.
	w.tool(0, "snapshot", "--kubeconfig", w.plane.Kubeconfig, "-o", plain)
	if report, _ := w.tool(0, "simulate", "--snapshot", plain, "-o", "json"); len(w.planned(report)) > 0 {
		t.Errorf("of a cluster at rest this would be launched: %q", w.planned(report))
	}
}
