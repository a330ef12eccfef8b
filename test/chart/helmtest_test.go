package chart

import (
	"os/exec"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// hook is the annotation of objects that Helm does not install.
const hook = "helm.sh/hook"

// testName is the name of both objects of helm test.
const testName = "karpenter-test"

// TestHelmTestAsksTheController: the Service of the test leads to the pods of the controller and not to that of the test, and the pod uses the
// image of the controller.
func TestHelmTestAsksTheController(t *testing.T) {
	objects := named("settings.clusterName=one", "controller.healthProbe.port=9081").objects(t)
	pod, service := the[*corev1.Pod](t, objects, testName), the[*corev1.Service](t, objects, testName)
	deployment := the[*appsv1.Deployment](t, objects, "karpenter").Spec.Template
	if pod.Annotations[hook] != "test" || service.Annotations[hook] != "test" {
		t.Errorf("they are installed with the others: %v and %v", pod.Annotations, service.Annotations)
	}
	for _, policy := range []string{pod.Annotations[hook+"-delete-policy"], service.Annotations[hook+"-delete-policy"]} {
		if policy != "before-hook-creation,hook-succeeded" {
			t.Errorf("they stay: %q", policy)
		}
	}
	selector := labels.SelectorFromSet(service.Spec.Selector)
	if !selector.Matches(labels.Set(deployment.Labels)) || selector.Matches(labels.Set(pod.Labels)) {
		t.Errorf("the selector %s matches the wrong pods", selector)
	}
	if the[*corev1.Service](t, objects, "karpenter").Spec.Selector["app.kubernetes.io/name"] == pod.Labels["app.kubernetes.io/name"] {
		t.Error("the pod of the test is scraped as if it were the controller")
	}
	container := pod.Spec.Containers[0]
	if container.Image != deployment.Spec.Containers[0].Image || pod.Spec.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("image %s, restart policy %s", container.Image, pod.Spec.RestartPolicy)
	}
	want := "probe --timeout=60s http://karpenter-test.kube-system.svc:8080/metrics http://karpenter-test.kube-system.svc:9081/readyz"
	if got := strings.Join(container.Args, " "); got != want {
		t.Errorf("arguments are %q, want %q", got, want)
	}
	for _, o := range named("settings.clusterName=one", "helmTest.enabled=false").objects(t) {
		if _, ok := o.(*corev1.Pod); ok {
			t.Error("a pod is rendered although the test is disabled")
		}
	}
}

// runHelmTest runs what the pod of helm test runs, with the address of the controller in place of that of the Service.
func (w *installed) runHelmTest() {
	w.t.Helper()
	args := the[*corev1.Pod](w.t, w.release.objects(w.t), testName).Spec.Containers[0].Args
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], testName+"."+w.release.namespace+".svc", "127.0.0.1")
	}
	endpoints := strings.Count(strings.Join(args, " "), "http://")
	if text, err := exec.Command(binary(w.t), args...).CombinedOutput(); err != nil || endpoints == 0 || strings.Count(string(text), ": ok, ") != endpoints {
		w.t.Errorf("helm test runs %q: %v\n%s", args, err, text)
	}
}
