package main

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// scene is one demonstration.
type scene struct {
	name string
	// flags are what the controller is started with beside the usual ones.
	flags []string
	// lines are the messages of the controller's log that are shown as they come.
	lines []string
	// perform runs it and returns the figures for the last line. It fails if the expected behaviour does not show.
	perform func(*play) (fmt.Stringer, error)
}

// scenes are all scenes. The first one, without a name, is the default.
func scenes() []scene {
	return []scene{
		{perform: wholeLoop},
		consolidationScene(),
		driftScene(),
		expiryScene(),
		repairScene(),
	}
}

// sceneOf is the selected scene, or the default if there is none of that name. AWS has its own scenes.
func sceneOf(s settings) scene {
	if s.cloud == cloudAWS {
		if s.scene == stormName {
			return stormScene()
		}
		return quickStart()
	}
	all := scenes()
	for _, one := range all {
		if one.name == s.scene {
			return one
		}
	}
	return all[0]
}

// sceneNames lists the scenes that -scene accepts.
func sceneNames() string {
	var names []string
	for _, one := range scenes() {
		if one.name != "" {
			names = append(names, one.name)
		}
	}
	return strings.Join(names, ", ")
}

// play is a running scene.
type play struct {
	*stack
	settings settings
	show     *progress
	logged   *spotlight
	// cluster and controller are how long their starts took.
	cluster, controller time.Duration
}

// sceneLimit is how long one step of a scene may take before the demo fails, far above what is usual.
const sceneLimit = 2 * time.Minute

// figureLine is the last line of a scene.
type figureLine string

func (f figureLine) String() string { return string(f) }

// pool applies the example's NodePool, with these edits, and waits until it is Ready.
func (p *play) pool(edits ...edit) error {
	if err := p.editPool(edits...); err != nil {
		return err
	}
	var pool v1.NodePool
	err := poll(p.ctx, 30*time.Second, "NodePool default to be Ready", func() (bool, error) {
		err := p.client.Get(p.ctx, client.ObjectKey{Name: "default"}, &pool)
		return meta.IsStatusConditionTrue(pool.Status.Conditions, v1.ConditionTypeReady), err
	})
	if err != nil {
		return fmt.Errorf("%w; its conditions: %s", err, conditions(pool.Status.Conditions))
	}
	p.show.line("NodePool ready")
	return nil
}

// edit sets one field of a manifest.
type edit struct {
	value any
	path  []string
}

// set is an edit of the field at this path.
func set(value any, path ...string) edit { return edit{value, path} }

// editPool applies the example's NodePool, with these edits.
func (p *play) editPool(edits ...edit) error {
	return apply(p.ctx, p.client, p.settings.manifests, "nodepool.yaml", func(object *unstructured.Unstructured) error {
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
func cores(numbers ...any) edit {
	in := func(key string, values ...any) any {
		return map[string]any{"key": key, "operator": "In", "values": values}
	}
	return set([]any{
		in(corev1.LabelOSStable, "linux"), in(corev1.LabelArchStable, "amd64"), in(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand),
		in(coresLabel, numbers...),
	}, "spec", "template", "spec", "requirements")
}

// coresLabel is where the simulated cloud writes how many cores a node has.
const coresLabel = "karpenter.kwok.sh/instance-cpu"

// scale applies the Deployment with this many replicas.
func (p *play) scale(replicas int) error {
	return apply(p.ctx, p.client, p.settings.manifests, "inflate.yaml", func(object *unstructured.Unstructured) error {
		return unstructured.SetNestedField(object.Object, int64(replicas), "spec", "replicas")
	})
}

// await counts until done returns true, and shows the counts.
func (p *play) await(what string, done func(counts) (bool, error)) (counts, error) {
	var last counts
	err := poll(p.ctx, sceneLimit, what, func() (bool, error) {
		var err error
		if last, err = p.count(); err != nil {
			return false, err
		}
		p.show.counts(last)
		return done(last)
	})
	if err == nil {
		p.show.line(what)
	}
	return last, err
}

// launch scales up and waits until every pod runs and every node is ready.
func (p *play) launch(replicas int) (counts, error) {
	if err := p.scale(replicas); err != nil {
		return counts{}, err
	}
	return p.await(fmt.Sprintf("%d pods running", replicas), func(c counts) (bool, error) {
		return c.running == replicas && c.pending == 0 && c.initialized == c.claims && c.nodes == c.claims, nil
	})
}

// nodes are the nodes of the pool.
func (p *play) nodes() ([]corev1.Node, error) {
	var list corev1.NodeList
	err := p.client.List(p.ctx, &list, client.HasLabels{v1.NodePoolLabelKey})
	return list.Items, err
}
