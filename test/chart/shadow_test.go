package chart

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
)

// reads are the verbs that change nothing.
var reads = []string{"get", "list", "watch"}

// TestShadowMayOnlyRead installs karpenter shadow with RBAC on and runs it with the account of the chart: it reports, and the
// API server would refuse it every write on every resource.
func TestShadowMayOnlyRead(t *testing.T) {
	w := begin(t)
	port := freePorts(t, 1)[0]
	r := named("settings.cloudProvider=kwok", "settings.clusterName=one", "settings.shadow=true", fmt.Sprintf("controller.healthProbe.port=%d", port))
	w.install(r)
	w.apply(read(t, "testdata/cluster-kwok.yaml"))
	w.apply(read(t, "testdata/cluster.yaml"))
	w.start()
	w.await("it is ready", func() string { return w.answer(port, "/readyz") })
	w.await("the mirror launches a node for the pods of the cluster", func() string {
		var report struct {
			Shadow struct{ Launched int }
		}
		response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/report", port))
		if err != nil {
			return err.Error()
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err == nil {
			err = json.Unmarshal(text, &report)
		}
		if err != nil || report.Shadow.Launched == 0 {
			return fmt.Sprintf("%v: %s", err, text[:min(len(text), 500)])
		}
		return ""
	})
	if n := w.list(t.Context(), "karpenter.sh/v1", "NodeClaim", nil); n != 0 {
		t.Errorf("there are %d NodeClaims in the real cluster", n)
	}
	// Settings that a controller has published are in a ConfigMap. It says what it uses where it may not list them.
	if refused := w.recorder.refused(); !slices.Equal(refused, []string{"list configmaps /"}) {
		t.Errorf("refused: %q", refused)
	}
	w.recorder.mu.Lock()
	for c := range w.recorder.allowed {
		if !slices.Contains(reads, c.verb) {
			t.Errorf("it has sent a write: %s", c)
		}
	}
	w.recorder.mu.Unlock()
	w.wantNoWrites(the[*appsv1.Deployment](t, r.objects(t), "").Spec.Template.Spec.ServiceAccountName)
}

// wantNoWrites asks the API server about every write on every resource that it serves.
func (w *installed) wantNoWrites(account string) {
	w.t.Helper()
	_, lists, err := w.clients.Discovery().ServerGroupsAndResources()
	if err != nil {
		w.t.Fatal(err)
	}
	asked := 0
	for _, list := range lists {
		version, err := apischema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, resource := range list.APIResources {
			for _, verb := range []string{"create", "update", "patch", "delete", "deletecollection", "impersonate", "escalate", "bind"} {
				asked++
				w.wantRefused(account, version.Group, resource.Name, verb)
			}
		}
	}
	if asked < 500 {
		w.t.Errorf("only %d writes were tried", asked)
	}
}

func (w *installed) wantRefused(account, group, resource, verb string) {
	w.t.Helper()
	name, sub, _ := strings.Cut(resource, "/")
	if group == "authentication.k8s.io" || group == "authorization.k8s.io" {
		return // who it is and what it may do, all authenticated users may ask
	}
	answer, err := w.clients.AuthorizationV1().SubjectAccessReviews().Create(w.t.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:   fmt.Sprintf("system:serviceaccount:%s:%s", w.release.namespace, account),
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + w.release.namespace, "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: w.release.namespace, Verb: verb, Group: group, Resource: name, Subresource: sub,
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	if answer.Status.Allowed {
		w.t.Errorf("it may %s %s.%s: %s", verb, resource, group, answer.Status.Reason)
	}
}

// TestShadowIsNoSecondController: what a controller writes or what others select is not installed a second time.
func TestShadowIsNoSecondController(t *testing.T) {
	objects := named("settings.clusterName=one", "settings.shadow=true", "replicas=2").objects(t)
	if got := the[*appsv1.Deployment](t, objects, "").Spec; *got.Replicas != 1 || got.Template.Spec.Containers[0].Args[0] != "shadow" {
		t.Errorf("%d replicas run %q", *got.Replicas, got.Template.Spec.Containers[0].Args)
	}
	for _, o := range objects {
		if config, ok := o.(*corev1.ConfigMap); ok {
			t.Errorf("ConfigMap %s is installed", config.Name)
		}
	}
	for _, g := range grants(objects) {
		if !slices.Contains(reads, g.verb) {
			t.Errorf("it may %s", g)
		}
	}
}
