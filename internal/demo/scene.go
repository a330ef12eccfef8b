package demo

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Settings are what a demonstration is asked for.
type Settings struct {
	// Pods is the number of pods of the first scene.
	Pods int
	// Catalog names the instance types.
	Catalog string
	// PriceLabel is the label of nodes with their price in dollars per hour.
	PriceLabel string
	// Manifests has nodepool.yaml and inflate.yaml of the cloud.
	Manifests fs.FS
}

// Scene is one demonstration.
type Scene struct {
	Name string
	// Flags are what the controller is started with beside the usual ones.
	Flags []string
	// Gates and APIs are the feature gates and APIs of Kubernetes that the scene needs beside the usual ones. The cluster in memory has them.
	Gates, APIs []string
	// Lines are the messages of the controller's log that are shown as they come.
	Lines []string
	// Perform runs it and returns the figures for the last line. It fails if the expected behavior does not show.
	Perform func(*Play) (fmt.Stringer, error)
}

// Scenes are those of the simulated cloud. The first one, without a name, is the default.
func Scenes() []Scene {
	return []Scene{
		{Perform: wholeLoop},
		consolidationScene(),
		driftScene(),
		expiryScene(),
		repairScene(),
		legacyRepairScene(),
		rebootScene(),
		gangScene(),
	}
}

// SceneNamed is the scene of a name; false if there is none.
func SceneNamed(name string) (Scene, bool) {
	all := Scenes()
	at := slices.IndexFunc(all, func(s Scene) bool { return s.Name == name })
	if at < 0 {
		return Scene{}, false
	}
	return all[at], true
}

// SceneNames lists the scenes beside the default.
func SceneNames() string {
	var names []string
	for _, one := range Scenes() {
		if one.Name != "" {
			names = append(names, one.Name)
		}
	}
	return strings.Join(names, ", ")
}

// Play is a running scene.
type Play struct {
	Settings Settings
	// Ctx ends when the scene is to end, or when the cluster or the controller ended by itself.
	Ctx    context.Context
	Client client.Client
	Show   *Progress
	Logged *Spotlight
	// Cluster and Controller are how long their starts took.
	Cluster, Controller time.Duration
	// Limit is how long one step may take before the demo fails; 0 for the limit of the simulated cloud.
	Limit time.Duration
	// Price is the price of the nodes in dollars per hour, for clouds that do not label nodes with it; nil for others.
	Price func() float64
}

// sceneLimit is how long one step of a scene may take before the demo fails, far above what is usual.
const sceneLimit = 2 * time.Minute

// FigureLine is the last line of a scene.
type FigureLine string

func (f FigureLine) String() string { return string(f) }

// Pool applies the example's NodePool, with these edits, and waits until it is Ready.
func (p *Play) Pool(edits ...Edit) error {
	if err := p.EditPool(edits...); err != nil {
		return err
	}
	var pool v1.NodePool
	err := Poll(p.Ctx, 30*time.Second, "NodePool default to be Ready", func() (bool, error) {
		err := p.Client.Get(p.Ctx, client.ObjectKey{Name: "default"}, &pool)
		return meta.IsStatusConditionTrue(pool.Status.Conditions, v1.ConditionTypeReady), err
	})
	if err != nil {
		return fmt.Errorf("%w; its conditions: %s", err, conditions(pool.Status.Conditions))
	}
	p.Show.Line("NodePool ready")
	return nil
}

// Edit sets one field of a manifest.
type Edit struct {
	value any
	path  []string
}

// Set is an edit of the field at this path.
func Set(value any, path ...string) Edit { return Edit{value, path} }

// EditPool applies the example's NodePool, with these edits.
func (p *Play) EditPool(edits ...Edit) error {
	return Apply(p.Ctx, p.Client, p.Settings.Manifests, "nodepool.yaml", func(object *unstructured.Unstructured) error {
		for _, e := range edits {
			if err := unstructured.SetNestedField(object.Object, e.value, e.path...); err != nil {
				return err
			}
		}
		return nil
	})
}

// cores is an edit that lets the pool launch on-demand nodes with these numbers of cores only. On-demand nodes may be replaced by cheaper
// on-demand ones; spot nodes need a feature gate for that.
func cores(numbers ...any) Edit { return Cores(coresLabel, numbers...) }

// Cores is the edit of cores for a cloud that writes the number of cores in another label.
func Cores(label string, numbers ...any) Edit {
	in := func(key string, values ...any) any {
		return map[string]any{"key": key, "operator": "In", "values": values}
	}
	return Set([]any{
		in(corev1.LabelOSStable, "linux"), in(corev1.LabelArchStable, "amd64"), in(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand),
		in(label, numbers...),
	}, "spec", "template", "spec", "requirements")
}

// coresLabel is where the simulated cloud writes how many cores a node has.
const coresLabel = "karpenter.kwok.sh/instance-cpu"

// Scale applies the Deployment with this many replicas.
func (p *Play) Scale(replicas int) error {
	return Apply(p.Ctx, p.Client, p.Settings.Manifests, "inflate.yaml", func(object *unstructured.Unstructured) error {
		return unstructured.SetNestedField(object.Object, int64(replicas), "spec", "replicas")
	})
}

// Await counts until done returns true, and shows the counts.
func (p *Play) Await(what string, done func(Counts) (bool, error)) (Counts, error) {
	var last Counts
	err := Poll(p.Ctx, cmp.Or(p.Limit, sceneLimit), what, func() (bool, error) {
		var err error
		if last, err = p.Count(); err != nil {
			return false, err
		}
		p.Show.Counts(last)
		return done(last)
	})
	if err == nil {
		p.Show.Line(what)
	}
	return last, err
}

// Launch scales up and waits until every pod runs and every node is ready.
func (p *Play) Launch(replicas int) (Counts, error) {
	if err := p.Scale(replicas); err != nil {
		return Counts{}, err
	}
	return p.Await(fmt.Sprintf("%d pods running", replicas), func(c Counts) (bool, error) {
		return c.Running == replicas && c.Pending == 0 && c.Initialized == c.Claims && c.Nodes == c.Claims, nil
	})
}

// Nodes are the nodes of the pool.
func (p *Play) Nodes() ([]corev1.Node, error) {
	var list corev1.NodeList
	err := p.Client.List(p.Ctx, &list, client.HasLabels{v1.NodePoolLabelKey})
	return list.Items, err
}
