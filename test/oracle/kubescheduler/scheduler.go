// Package kubescheduler answers what kube-scheduler would decide: the filters of its default plugins, from k8s.io/kubernetes itself, on
// nodes and pods in memory.
//
// Nothing is started: no informer, no queue, no binding. The caller sets objects, nodes and pods, asks whether a pod could run on a
// node, and binds it. Scores and preemption are not asked: they choose among nodes that the filters accept.
package kubescheduler

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Scheduler is kube-scheduler with the default configuration, for one goroutine.
type Scheduler struct {
	framework framework.Framework
	factory   informers.SharedInformerFactory
	cluster   *cluster
	// objects are what the listers of the plugins list.
	objects objects
}

var register = sync.OnceFunc(metrics.Register) //nolint:gochecknoglobals // the metrics of plugins are global, too

// compareTolerations turns on the operators Lt and Gt of tolerations, for all schedulers of the process. All else has its default.
var compareTolerations = sync.OnceValue(func() error { //nolint:gochecknoglobals // feature gates are global, too
	return utilfeature.DefaultMutableFeatureGate.Set(string(features.TaintTolerationComparisonOperators) + "=true")
})

// New builds the default profile, with the operators Lt and Gt of tolerations. It ends with ctx.
func New(ctx context.Context) (*Scheduler, error) {
	register()
	if err := compareTolerations(); err != nil {
		return nil, err
	}
	ctx = klog.NewContext(ctx, klog.Logger{})
	configuration, err := latest.Default()
	if err != nil {
		return nil, err
	}
	profile := &configuration.Profiles[0]
	withoutDevices(profile)
	// The client is never called: nothing is started.
	s := &Scheduler{factory: informers.NewSharedInformerFactory(&kubernetes.Clientset{}, 0), cluster: newCluster()}
	s.objects = newObjects(s.factory)
	s.framework, err = frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), profile,
		frameworkruntime.WithInformerFactory(s.factory),
		frameworkruntime.WithClientSet(&kubernetes.Clientset{}),
		frameworkruntime.WithSnapshotSharedLister(s.cluster),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(s.factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithEventRecorder(&events.FakeRecorder{}),
		frameworkruntime.WithLogger(klog.Logger{}),
	)
	if err != nil {
		return nil, fmt.Errorf("building the scheduler: %w", err)
	}
	return s, nil
}

// withoutDevices leaves out the plugin for resource claims: the problems have none, and it needs a tracker of device allocations.
func withoutDevices(profile *config.KubeSchedulerProfile) {
	profile.Plugins.MultiPoint.Enabled = slices.DeleteFunc(profile.Plugins.MultiPoint.Enabled, func(p config.Plugin) bool {
		return p.Name == names.DynamicResources
	})
}

// Load replaces what the plugins look up besides nodes and pods: namespaces, volumes and their claims and classes, CSINodes.
func (s *Scheduler) Load(list []client.Object) error {
	return s.objects.replace(list)
}

// SetNodes replaces all nodes and the pods on them. Each pod names its node.
func (s *Scheduler) SetNodes(nodes []*corev1.Node, pods []*corev1.Pod) {
	s.cluster.reset(nil)
	s.Join(nodes)
	for _, pod := range pods {
		s.cluster.add(pod, pod.Spec.NodeName)
	}
}

// Refusal returns why a pod cannot be bound to a node now; empty if it can.
func (s *Scheduler) Refusal(pod *corev1.Pod, node string) string {
	return s.Refusals(pod, []string{node})[0]
}

// Refusals returns for each node why a pod cannot be bound to it now; empty if it can.
func (s *Scheduler) Refusals(pod *corev1.Pod, nodes []string) []string {
	ctx := klog.NewContext(context.Background(), klog.Logger{}) // plugins log values of tenants that are no numbers as errors
	out := make([]string, len(nodes))
	state := framework.NewCycleState()
	result, status, _ := s.framework.RunPreFilterPlugins(ctx, state, pod)
	for i, name := range nodes {
		info := s.cluster.byName[name]
		switch {
		case info == nil:
			out[i] = fmt.Sprintf("node %s does not exist", name)
		case !status.IsSuccess():
			out[i] = describe(status)
		case !result.AllNodes() && !result.NodeNames.Has(name):
			out[i] = "node is not among those that the pod may use"
		default:
			out[i] = describe(s.framework.RunFilterPlugins(ctx, state, pod, info))
		}
	}
	return out
}

func describe(status *fwk.Status) string {
	if status.IsSuccess() {
		return ""
	}
	return status.Plugin() + ": " + status.Message()
}

// Bind binds a pod to a node, as Refusal allowed it. Volumes that wait for their first consumer are provisioned for the node.
func (s *Scheduler) Bind(pod *corev1.Pod, node string) error {
	pod = pod.DeepCopy()
	pod.Spec.NodeName = node
	s.cluster.add(pod, node)
	return s.objects.provision(pod, s.cluster.byName[node].Node())
}

// RefusalOnNew returns why a pod cannot be bound to a node that joins the cluster with pods of DaemonSets; empty if it can. The cluster is
// the same afterwards.
func (s *Scheduler) RefusalOnNew(pod *corev1.Pod, node *corev1.Node, daemons []*corev1.Pod) string {
	s.Join([]*corev1.Node{node})
	defer s.cluster.removeNode(node.Name)
	for _, daemon := range daemons {
		if s.Refusal(daemon, node.Name) == "" {
			s.cluster.add(daemon, node.Name)
		}
	}
	return s.Refusal(pod, node.Name)
}

// Join adds nodes without pods. Those that Load did not name are new: all CSI drivers are installed on them.
func (s *Scheduler) Join(nodes []*corev1.Node) {
	for _, node := range nodes {
		s.cluster.addNode(node)
		if err := s.objects.install(node.Name); err != nil {
			panic(err) // the store is in memory and takes any object
		}
	}
}

// CSINodes are the CSI drivers of nodes; nodes without any are left out.
func (s *Scheduler) CSINodes(nodes []*corev1.Node) ([]*storagev1.CSINode, error) {
	var out []*storagev1.CSINode
	for _, node := range nodes {
		csiNode, err := s.objects.installed(node.Name)
		if err != nil {
			return nil, err
		}
		if csiNode != nil {
			out = append(out, csiNode)
		}
	}
	return out, nil
}

// Leave removes the last nodes that joined.
func (s *Scheduler) Leave(count int) {
	for range count {
		s.cluster.removeNode(s.cluster.list[len(s.cluster.list)-1].Node().Name)
	}
}

// Pods are the pods on all nodes, each with the name of its node.
func (s *Scheduler) Pods() []*corev1.Pod {
	var out []*corev1.Pod
	for _, node := range s.cluster.list {
		for _, info := range node.GetPods() {
			pod := info.GetPod().DeepCopy()
			pod.Spec.NodeName = node.Node().Name
			out = append(out, pod)
		}
	}
	return out
}
