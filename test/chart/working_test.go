package chart

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/karpenter-anew/karpenter/internal/options"
)

// TestInstalledControllerWorksWithWhatTheChartGivesIt installs a release, with every feature on, into a cluster with RBAC, and
// runs the binary with the arguments, the environment and the account of the rendered Deployment. It works, no call is
// refused, and every permission is either used or explained.
func TestInstalledControllerWorksWithWhatTheChartGivesIt(t *testing.T) {
	t.Run("kwok", func(t *testing.T) {
		t.Parallel()
		w := begin(t)
		w.work(everyFeature("kwok"), "testdata/cluster-kwok.yaml", func() {
			w.changeWhatIsKept("karpenter.kwok.sh/v1alpha1", "KWOKNodeClass")
		})
	})
	t.Run("aws", func(t *testing.T) {
		t.Parallel()
		w := begin(t)
		w.work(everyFeature("aws", w.account()...), "testdata/cluster-aws.yaml", func() {
			w.changeWhatIsKept("karpenter.k8s.aws/v1", "EC2NodeClass")
			w.wantDedicatedClass()
			w.wantMissingSubnets()
		})
	})
}

// everyFeature is a release for a cloud with every feature on.
func everyFeature(cloud string, set ...string) release {
	r := named(append(set, "settings.cloudProvider="+cloud)...)
	r.files = []string{"testdata/every-feature.yaml"}
	return r
}

// work lets the controller of a release do everything it can with the objects of a cloud, and with earlier ones, and checks what it used.
func (w *installed) work(r release, objects string, earlier func()) {
	w.t.Helper()
	ports := freePorts(w.t, 2)
	r.set = append(r.set, fmt.Sprintf("controller.metrics.port=%d", ports[0]), fmt.Sprintf("controller.healthProbe.port=%d", ports[1]))
	w.install(r)
	w.apply(read(w.t, objects))
	w.apply(read(w.t, "testdata/cluster.yaml"))
	w.start()
	w.await("the pods run", func() string { return w.deployed("web", 3) })
	w.await("the pod that needs an earlier object runs", func() string { return w.deployed("old", 1) })
	w.await("the pool of a fixed size has its node", func() string {
		fixed := func(o unstructured.Unstructured) bool { return o.GetLabels()["karpenter.sh/nodepool"] == "fixed" }
		if n := w.list(w.t.Context(), "v1", "Node", fixed); n != 1 {
			return fmt.Sprintf("it has %d", n)
		}
		return ""
	})
	w.await("the settings are published", w.unpublished)
	w.await("the controller is ready", func() string { return w.answer(ports[1], "/readyz") })
	w.wantSecuredMetrics(ports[0])
	w.runHelmTest()
	earlier()
	w.replaceNode()
	w.await("the pods run again", func() string { return w.deployed("web", 3) })
	w.undeploy("web")
	w.await("the nodes of the pods are gone but for the buffer's", func() string {
		ours := func(o unstructured.Unstructured) bool { return o.GetLabels()["karpenter.sh/nodepool"] == "default" }
		if n := w.list(w.t.Context(), "karpenter.sh/v1", "NodeClaim", ours); n > 1 {
			return fmt.Sprintf("there are %d", n)
		}
		return ""
	})
	if err := w.controller.Terminate(patience); err != nil {
		w.t.Fatal(err)
	}
	if err := w.controller.Err(); err != nil {
		w.t.Errorf("the controller failed: %v", err)
	}
	for _, refused := range w.recorder.refused() {
		w.t.Errorf("refused: %s", refused)
	}
	checkUse(w.t, grants(r.objects(w.t)), w.recorder)
}

// unpublished describes how the settings of the controller are not in the cluster; "" if they are.
func (w *installed) unpublished() string {
	w.t.Helper()
	var settings corev1.ConfigMap
	if err := w.client.Get(w.t.Context(), types.NamespacedName{Namespace: w.release.namespace, Name: options.PublishedName}, &settings); err != nil {
		return err.Error()
	}
	for _, key := range []string{options.PublishedVersion, "cloud-provider", "catalog", "feature-gates"} {
		if settings.Data[key] == "" {
			return fmt.Sprintf("there is no %s among %q", key, settings.Data)
		}
	}
	return ""
}

// deployed describes how a Deployment does not have this many ready pods; "" if it has.
func (w *installed) deployed(name string, want int32) string {
	w.t.Helper()
	var d appsv1.Deployment
	if err := w.client.Get(w.t.Context(), types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: name}, &d); err != nil {
		w.t.Fatal(err)
	}
	if d.Status.ReadyReplicas != want {
		return fmt.Sprintf("%d of %d pods are ready", d.Status.ReadyReplicas, want)
	}
	return ""
}

// undeploy deletes a Deployment.
func (w *installed) undeploy(name string) {
	w.t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}}
	if err := w.client.Delete(w.t.Context(), d); err != nil {
		w.t.Fatal(err)
	}
}

// replaceNode deletes a node with running pods, under a budget, and waits until it is deleted: it is drained.
func (w *installed) replaceNode() {
	w.t.Helper()
	loose := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "web"}}
	loose.Spec.MaxUnavailable = ptr.To(intstr.FromString("100%"))
	loose.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	if err := w.client.Create(w.t.Context(), loose); err != nil {
		w.t.Fatal(err)
	}
	var pods corev1.PodList
	if err := w.client.List(w.t.Context(), &pods); err != nil {
		w.t.Fatal(err)
	}
	node := &corev1.Node{}
	for _, pod := range pods.Items {
		if pod.Labels["app"] == "web" {
			node.Name = pod.Spec.NodeName
		}
	}
	if err := w.client.Delete(w.t.Context(), node); err != nil {
		w.t.Fatal(err)
	}
	w.await("the node that was deleted is gone", func() string {
		if w.list(w.t.Context(), "v1", "Node", func(o unstructured.Unstructured) bool { return o.GetName() == node.Name }) > 0 {
			return "it is there"
		}
		return ""
	})
}

// answer is why an endpoint does not answer with 200; "" if it does.
func (w *installed) answer(port int, path string) string {
	w.t.Helper()
	response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", port, path))
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return fmt.Sprintf("%d %s", response.StatusCode, strings.TrimSpace(string(body)))
	}
	return ""
}
