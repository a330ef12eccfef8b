package capacitybuffer_test

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/controller/capacitybuffer"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/translate"
	"github.com/karpenter-anew/karpenter/test/logcapture"
)

// harness is an API server in memory with a cluster state and the controller of buffers.
type harness struct {
	*fakecluster.Cluster
	store      *cluster.Store
	buffers    *capacitybuffer.Buffers
	controller *capacitybuffer.Controller

	log logcapture.Buffer

	mu        sync.Mutex
	triggered []string
}

func newHarness(t *testing.T, objects ...client.Object) *harness {
	t.Helper()
	w := &harness{Cluster: fakecluster.New(t, objects...)}
	w.restart()
	return w
}

// restart drops all state but the API objects.
func (w *harness) restart() {
	translator := translate.New(w.Cloud.Labels)
	w.store = cluster.NewStore(w.Cloud, translator)
	w.buffers = capacitybuffer.NewBuffers(capacitybuffer.Deps{
		Shared: w.Shared, Workloads: w.Client, Store: w.store, Translator: translator, Log: slog.New(slog.NewTextHandler(&w.log, nil)),
	})
	w.controller = capacitybuffer.New(w.buffers, func(id string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.triggered = append(w.triggered, id)
	})
}

// look reconciles a buffer and checks the requeue delay.
func (w *harness) look(b *v1beta1.CapacityBuffer, again time.Duration) {
	w.Helper()
	if result := w.Run(w.controller, b); result != (reconcile.Result{RequeueAfter: again}) {
		w.Errorf("runs again %+v, want after %v", result, again)
	}
}

// virtual are the virtual pods in the cluster state.
func (w *harness) virtual() []*model.Pod { return w.store.Snapshot().Virtual }

// wantVirtual checks the names of the virtual pods, without the common prefix, and the millicores of the first.
func (w *harness) wantVirtual(cpu int64, names ...string) {
	w.Helper()
	var got []string
	for _, p := range w.virtual() {
		got = append(got, strings.TrimPrefix(p.Name, "capacity-buffer-"))
	}
	if !slices.Equal(got, names) {
		w.Errorf("virtual pods %q, want %q", got, names)
	} else if len(names) > 0 && w.virtual()[0].Shape.Requests.At(resource.CPU) != cpu {
		w.Errorf("the first asks for %d millicores, want %d", w.virtual()[0].Shape.Requests.At(resource.CPU), cpu)
	}
}

// wantTriggers checks what triggered the provisioner since the last time.
func (w *harness) wantTriggers(ids ...string) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.triggered, ids) {
		w.Errorf("triggered by %q, want %q", w.triggered, ids)
	}
	w.triggered = nil
}

// wantCondition checks a condition: "Status/Reason/Message", or empty for none.
func (w *harness) wantCondition(b *v1beta1.CapacityBuffer, conditionType, want string) {
	w.Helper()
	if got := fakecluster.Condition(fakecluster.Must(w.Cluster, b).Status.Conditions, conditionType); got != want {
		w.Errorf("%s is %q, want %q", conditionType, got, want)
	}
}

const (
	readyFor = v1beta1.ConditionTypeReadyForProvisioning
	placing  = v1beta1.ConditionTypeProvisioning
	resolved = "True/Resolved/"
)

func bufferOf(name string, changes ...func(*v1beta1.CapacityBuffer)) *v1beta1.CapacityBuffer {
	b := &v1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name + "-uid"), Generation: 1}}
	b.Spec.ProvisioningStrategy = new(v1beta1.ActiveCapacity)
	for _, change := range changes {
		change(b)
	}
	return b
}

func ofTemplate(name string, replicas int32) func(*v1beta1.CapacityBuffer) {
	return func(b *v1beta1.CapacityBuffer) {
		b.Spec.PodTemplateRef, b.Spec.Replicas = &v1beta1.LocalObjectRef{Name: name}, &replicas
	}
}

func ofScalable(kind, name string, percentage int32) func(*v1beta1.CapacityBuffer) {
	return func(b *v1beta1.CapacityBuffer) {
		b.Spec.ScalableRef, b.Spec.Percentage = &v1beta1.ScalableRef{APIGroup: "apps", Kind: kind, Name: name}, &percentage
	}
}

// inOrder is what the status of a buffer says that the controller has seen before.
func inOrder(replicas int32) func(*v1beta1.CapacityBuffer) {
	return func(b *v1beta1.CapacityBuffer) {
		b.Status.Replicas = &replicas
		b.Status.Conditions = []metav1.Condition{{Type: readyFor, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonResolved}}
	}
}

func podOf(cpu string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "app", Resources: corev1.ResourceRequirements{Requests: fakecluster.Resources("cpu", cpu)},
		}}},
	}
}

func podTemplate(name, cpu string) *corev1.PodTemplate {
	return &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Generation: 3}, Template: podOf(cpu)}
}

func deployment(name string, replicas int32, cpu string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Template: podOf(cpu)},
	}
}
