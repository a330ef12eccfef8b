package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/bench/contest"
	"github.com/karpenter-anew/karpenter/bench/upstream"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/simulation"
	"github.com/karpenter-anew/karpenter/test/scenario/check"
	"github.com/karpenter-anew/karpenter/test/scenario/scenariofile"
)

// comparison is what both sides answer to one scenario, as a line of JSON.
type comparison struct {
	// Name is that of the scenario.
	Name string `json:"name"`
	// Ours and Upstream are dollars per hour, each NodeClaim at its cheapest offering.
	Ours     float64 `json:"ours"`
	Upstream float64 `json:"upstream"`
	// Same is set when both place the same pods.
	Same bool `json:"same"`
	// Plan is upstream's.
	Plan upstream.Plan `json:"plan"`
	// Error is why there is no answer to compare.
	Error string `json:"error,omitempty"`
}

// compare prints the prices of both sides for every scenario of a folder.
func compare(ctx context.Context, folder string, out io.Writer) error {
	return eachScenario(folder, out, func(s scenariofile.Scenario, reader *manifest.Reader, vendor cloud.Cloud) any {
		c := comparison{Name: s.Name}
		if err := c.answer(ctx, s, reader, vendor); err != nil {
			c.Error = err.Error()
		}
		return c
	})
}

// eachScenario prints the answer to every scenario of a folder as a line of JSON.
func eachScenario(folder string, out io.Writer, answer func(scenariofile.Scenario, *manifest.Reader, cloud.Cloud) any) error {
	log.SetLogger(logr.Discard())
	paths, err := filepath.Glob(filepath.Join(folder, "*.txtar"))
	if err != nil {
		return err
	}
	definitions, err := kwokcrds.Definitions()
	if err != nil {
		return err
	}
	reader, err := manifest.NewReader(definitions)
	if err != nil {
		return err
	}
	vendor, err := kwok.New(nil, kwok.Options{})
	if err != nil {
		return err
	}
	lines := json.NewEncoder(out)
	for _, path := range paths {
		text, err := os.ReadFile(path) //nolint:gosec // the folder is an argument
		if err != nil {
			return err
		}
		s, err := scenariofile.Parse(path, text)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := lines.Encode(answer(s, reader, vendor)); err != nil {
			return err
		}
	}
	return nil
}

// recovered makes an error of a panic: upstream's fake client refuses some objects so.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("panic: %v", r)
	}
}

// objectsOf are the objects that the files of a scenario have.
func objectsOf(s scenariofile.Scenario, reader *manifest.Reader) ([]client.Object, error) {
	var objects []client.Object
	for _, input := range s.Inputs {
		m, err := reader.Read(input.Name, bytes.NewReader(input.YAML))
		if err != nil {
			return nil, err
		}
		objects = append(objects, m.Objects...)
	}
	return manifest.Expand(objects), nil
}

// answer asks both sides. Preferences are ignored: a plan that meets more of them may cost more.
func (c *comparison) answer(ctx context.Context, s scenariofile.Scenario, reader *manifest.Reader, vendor cloud.Cloud) (err error) {
	defer recovered(&err)
	objects, err := objectsOf(s, reader)
	if err != nil {
		return err
	}
	result, err := simulation.Run(ctx, objects, vendor, simulation.Options{Preferences: model.IgnorePreferences, BestEffortMinValues: s.Options.BestEffortMinValues})
	if err != nil {
		return err
	}
	o, err := occupied(ctx, objects, vendor)
	if err != nil {
		return err
	}
	o.IgnorePreferences, o.BestEffortMinValues = true, s.Options.BestEffortMinValues
	if c.Plan, err = upstream.PlanFor(o); err != nil {
		return err
	}
	theirs := contest.Answer{}
	for _, launch := range c.Plan.Claims {
		theirs.Claims = append(theirs.Claims, launch.Claim)
	}
	in := contest.Input{Cloud: vendor, Types: o.Types[o.Pools[0].Name]}
	if c.Ours, err = contest.Price(in, contest.Answer{Claims: result.Claims}); err != nil {
		return fmt.Errorf("ours: %w", err)
	}
	if c.Upstream, err = contest.Price(in, theirs); err != nil {
		return fmt.Errorf("upstream: %w", err)
	}
	c.Same = slices.Equal(placed(result), c.Plan.Placed())
	return nil
}

// occupied is a cluster as upstream sees it.
func occupied(ctx context.Context, objects []client.Object, vendor cloud.Cloud) (upstream.Occupied, error) {
	o := upstream.Occupied{Cloud: vendor, Types: map[string][]*cloud.InstanceType{}}
	var err error
	for _, object := range objects {
		switch object := object.(type) {
		case *corev1.Pod:
			if pod := check.Admit(object); pod.Spec.NodeName == "" {
				o.Pods = append(o.Pods, pod)
			} else {
				o.Objects = append(o.Objects, pod)
			}
		case *corev1.Node:
			o.Objects = append(o.Objects, initialized(object))
		case *appsv1.DaemonSet:
			o.Daemons = append(o.Daemons, check.DaemonPod(object))
			o.Objects = append(o.Objects, object)
		case *v1.NodePool:
			o.Pools = append(o.Pools, object)
			if o.Types[object.Name], err = vendor.Provider.InstanceTypes(ctx, object); err != nil {
				return o, err
			}
		case *corev1.Namespace, *corev1.PersistentVolume, *corev1.PersistentVolumeClaim:
			o.Objects = append(o.Objects, object)
		default:
			if object.GetObjectKind().GroupVersionKind().Group == "storage.k8s.io" {
				o.Objects = append(o.Objects, object)
			}
		}
	}
	if len(o.Pools) == 0 {
		return o, fmt.Errorf("there is no pool")
	}
	return o, nil
}

// initialized is a node as its kubelet registers it.
func initialized(node *corev1.Node) *corev1.Node {
	node = node.DeepCopy()
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	if node.Labels[corev1.LabelHostname] == "" {
		node.Labels[corev1.LabelHostname] = node.Name
	}
	if node.Spec.ProviderID == "" {
		node.Spec.ProviderID = "kwok://" + node.Name
	}
	if len(node.Status.Conditions) == 0 {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	}
	return node
}

// placed are the pods that our plan places, sorted.
func placed(r simulation.Result) []types.UID {
	var out []types.UID
	for _, claim := range r.Plan.NodeClaims {
		for _, pod := range claim.Pods {
			out = append(out, types.UID(pod.UID))
		}
	}
	for _, at := range r.Plan.Placements {
		for _, pod := range at.Pods {
			out = append(out, types.UID(pod.UID))
		}
	}
	slices.Sort(out)
	return out
}
