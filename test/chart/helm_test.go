package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log" //nolint:depguard // The registry takes this logger.
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// nodesOfController are simulated nodes that the replicas of the controller may run on: one in each of two zones.
const nodesOfController = `
apiVersion: v1
kind: Node
metadata:
  name: a
  labels: {kwok.x-k8s.io/node: fake, kubernetes.io/os: linux, kubernetes.io/hostname: a, topology.kubernetes.io/zone: a}
status: {capacity: {cpu: 4, memory: 8Gi, pods: 110}, allocatable: {cpu: 4, memory: 8Gi, pods: 110}}
---
apiVersion: v1
kind: Node
metadata:
  name: b
  labels: {kwok.x-k8s.io/node: fake, kubernetes.io/os: linux, kubernetes.io/hostname: b, topology.kubernetes.io/zone: b}
status: {capacity: {cpu: 4, memory: 8Gi, pods: 110}, allocatable: {cpu: 4, memory: 8Gi, pods: 110}}
`

// helm is the command of Helm with its own settings.
type helm struct {
	w    *installed
	path string
	env  []string
}

// newHelm builds the version of Helm that go.mod names.
func newHelm(w *installed) *helm {
	w.t.Helper()
	dir := w.t.TempDir()
	h := &helm{w: w, path: filepath.Join(dir, "helm"), env: append(os.Environ(), "KUBECONFIG="+w.kubeconfig,
		"HELM_CACHE_HOME="+dir+"/cache", "HELM_CONFIG_HOME="+dir+"/config", "HELM_DATA_HOME="+dir+"/data", "HELM_NAMESPACE=kube-system")}
	if text, err := exec.CommandContext(w.t.Context(), "go", "build", "-o", h.path, "helm.sh/helm/v4/cmd/helm").CombinedOutput(); err != nil {
		w.t.Fatalf("building Helm: %v\n%s", err, text)
	}
	return h
}

// run runs a command of Helm and returns what it prints.
func (h *helm) run(args ...string) string {
	h.w.t.Helper()
	out, err := h.command(args...)
	if err != nil {
		h.w.t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (h *helm) command(args ...string) (string, error) {
	cmd := exec.CommandContext(h.w.t.Context(), h.path, args...)
	cmd.Env = h.env
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w: %s%s", err, out.String(), errors.String())
	}
	return out.String(), nil
}

// publish starts a registry with both charts in these versions, and returns where they are.
func (h *helm) publish(versions ...string) (repository string) {
	h.w.t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	h.w.t.Cleanup(server.Close)
	repository = "oci://" + strings.TrimPrefix(server.URL, "http://") + "/charts"
	dir := h.w.t.TempDir()
	for _, version := range versions {
		for _, folder := range []string{controller, crdChart} {
			h.run("package", folder, "--version="+version, "--app-version="+version, "--destination="+dir)
			h.run("push", filepath.Join(dir, filepath.Base(folder)+"-"+version+".tgz"), repository, "--plain-http")
		}
	}
	return repository
}

// wantHistory compares the revisions of the release of the controller: the version of the chart and the status of each.
func (h *helm) wantHistory(want string) {
	h.w.t.Helper()
	var all []struct{ Status, Chart string }
	if err := json.Unmarshal([]byte(h.run("history", "karpenter", "--output=json")), &all); err != nil {
		h.w.t.Fatal(err)
	}
	var got []string
	for _, r := range all {
		got = append(got, strings.TrimPrefix(r.Chart, "karpenter-")+" "+r.Status)
	}
	if text := strings.Join(got, ", "); text != want {
		h.w.t.Errorf("the revisions are %q, want %q", text, want)
	}
}

// TestHelmInstallsFromARegistry takes both charts from a registry to a cluster with Helm's command, through every step of a release:
// install, test, upgrade, rollback, uninstall. Nodes are simulated, so that their pods are ready without running. In place of the kubelet, the
// test runs the binary as the Deployment in the cluster says, and then what the pod of helm test says.
func TestHelmInstallsFromARegistry(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.apply(nodesOfController)
	h := newHelm(w)
	charts := h.publish("1.2.3", "1.2.4")
	ports := freePorts(t, 2)
	values := []string{
		"--set=settings.cloudProvider=kwok", fmt.Sprintf("--set=controller.metrics.port=%d", ports[0]),
		fmt.Sprintf("--set=controller.healthProbe.port=%d", ports[1]), "--plain-http", "--wait", "--timeout=2m",
	}
	install := func(version string, more ...string) {
		t.Helper()
		h.run("upgrade", "--install", "karpenter-crd", charts+"/karpenter-crd", "--version="+version, "--set=cloudProvider=kwok", "--plain-http", "--wait")
		h.run(append(append([]string{"upgrade", "--install", "karpenter", charts + "/karpenter", "--version=" + version, "--skip-crds"}, values...), more...)...)
	}

	install("1.2.3")
	w.wantDeployment(2, "1.2.3")
	w.release = release{namespace: "kube-system"}
	deployment := w.deployment()
	w.run(deployment.Spec.Template.Spec)
	w.await("the controller is ready", func() string { return w.answer(ports[1], "/readyz") })
	w.await("the controller is the leader", w.leaderless)
	h.test()

	pool := read(t, "testdata/cluster-kwok.yaml")
	w.apply(strings.Join(strings.Split(pool, "\n---\n")[:2], "\n---\n"))
	install("1.2.4", "--set=replicas=1")
	w.wantDeployment(1, "1.2.4")
	h.run("rollback", "karpenter", "1", "--wait", "--timeout=2m")
	w.wantDeployment(2, "1.2.3")
	h.wantHistory("1.2.3 superseded, 1.2.4 superseded, 1.2.3 deployed")

	if err := w.controller.Terminate(patience); err != nil {
		t.Fatal(err)
	}
	if refused := w.recorder.refused(); len(refused) > 0 {
		t.Errorf("refused: %q", refused)
	}
	h.run("uninstall", "karpenter", "--wait")
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment); !apierrors.IsNotFound(err) {
		t.Errorf("the Deployment outlives the release: %v", err)
	}
	if n := w.list(t.Context(), "karpenter.sh/v1", "NodePool", nil); n != 1 {
		t.Errorf("there are %d NodePools after the controller was uninstalled, want the one of the user", n)
	}
	w.wantNothingOf("karpenter")
	h.run("uninstall", "karpenter-crd", "--wait")
	w.wantNothingOf("karpenter-crd")
}

// deployment reads the Deployment of the controller.
func (w *installed) deployment() *appsv1.Deployment {
	w.t.Helper()
	var d appsv1.Deployment
	if err := w.client.Get(w.t.Context(), types.NamespacedName{Namespace: "kube-system", Name: "karpenter"}, &d); err != nil {
		w.t.Fatal(err)
	}
	return &d
}

// wantDeployment checks that a rollout is done, and of which version.
func (w *installed) wantDeployment(replicas int32, version string) {
	w.t.Helper()
	d := w.deployment()
	if s := d.Status; s.ReadyReplicas != replicas || s.UpdatedReplicas != replicas || s.ObservedGeneration != d.Generation {
		w.t.Errorf("Helm was done when the Deployment had status %+v, want %d replicas", s, replicas)
	}
	if image := d.Spec.Template.Spec.Containers[0].Image; !strings.HasSuffix(image, "/karpenter:"+version) {
		w.t.Errorf("the Deployment runs %s, want version %s", image, version)
	}
}

// leaderless describes how no replica leads; "" if one does.
func (w *installed) leaderless() string {
	var leases coordinationv1.LeaseList
	if err := w.client.List(w.t.Context(), &leases, client.InNamespace("kube-system")); err != nil {
		return err.Error()
	}
	for _, lease := range leases.Items {
		if strings.HasPrefix(lease.Name, "karpenter") && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "" {
			return ""
		}
	}
	return fmt.Sprintf("none of %d leases is held", len(leases.Items))
}

// test runs helm test. The test ends when its pod does, for which this does the kubelet's part: it runs the arguments of the pod that Helm
// created, with the address of the controller in place of that of the Service, and writes how that ended.
func (h *helm) test() {
	h.w.t.Helper()
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := h.command("test", "karpenter", "--timeout=2m")
		done <- result{text, err}
	}()
	pod := &corev1.Pod{}
	h.w.await("helm test has started its pod", func() string {
		if err := h.w.client.Get(h.w.t.Context(), types.NamespacedName{Namespace: "kube-system", Name: testName}, pod); err != nil {
			return err.Error()
		}
		if pod.Status.Phase != corev1.PodRunning {
			return "it is " + string(pod.Status.Phase)
		}
		return ""
	})
	args := pod.Spec.Containers[0].Args
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], testName+".kube-system.svc", "127.0.0.1")
	}
	end := corev1.PodSucceeded
	if text, err := exec.CommandContext(h.w.t.Context(), binary(h.w.t), args...).CombinedOutput(); err != nil {
		h.w.t.Errorf("the pod of helm test runs %q: %v\n%s", args, err, text)
		end = corev1.PodFailed
	}
	change := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"status": {"phase": %q}}`, end))
	if err := h.w.client.Status().Patch(h.w.t.Context(), pod, change); err != nil {
		h.w.t.Fatal(err)
	}
	if r := <-done; r.err != nil || !strings.Contains(r.text, "Succeeded") {
		h.w.t.Errorf("helm test: %v\n%s", r.err, r.text)
	}
}

// wantNothingOf checks that no object of a release is left: none has the annotation by which Helm knows its own.
func (w *installed) wantNothingOf(release string) {
	w.t.Helper()
	lists, err := w.clients.Discovery().ServerPreferredResources()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, list := range lists {
		for _, resource := range list.APIResources {
			if !strings.Contains(fmt.Sprint(resource.Verbs), "list") {
				continue
			}
			var all unstructured.UnstructuredList
			all.SetAPIVersion(list.GroupVersion)
			all.SetKind(resource.Kind)
			if err := w.client.List(w.t.Context(), &all); meta.IsNoMatchError(err) || apierrors.IsMethodNotSupported(err) {
				continue
			} else if err != nil {
				w.t.Fatal(err)
			}
			for _, o := range all.Items {
				if o.GetAnnotations()["meta.helm.sh/release-name"] == release {
					w.t.Errorf("%s %s/%s is left", o.GetKind(), o.GetNamespace(), o.GetName())
				}
			}
		}
	}
}
