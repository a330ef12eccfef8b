package judge

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// Problem is what a user would apply to a cluster.
type Problem struct {
	// Name tells problems apart; it names the file that a failure is written to.
	Name string
	// Seed decides what the judge samples: launches, and orders in which pods are bound.
	Seed uint64
	// BestEffort is the policy for minValues; Strict otherwise.
	BestEffort bool
	// Preferences is the policy for preferences; Respect if empty.
	Preferences simulation.PreferencePolicy
	// Documents are the manifests, and nodes as NodeDocument writes them.
	Documents []map[string]any
}

// now is when problems about disruption are asked. Nodes and pods in them are older.
func now() time.Time { return time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) }

// settings are the options of the simulation.
func (p Problem) settings() simulation.Options {
	return simulation.Options{
		BestEffortMinValues: p.BestEffort, Preferences: p.Preferences, SpotToSpot: p.Disrupts(), Now: now(), CompareTolerations: p.ComparesTaints(),
	}
}

// ComparesTaints reports whether tolerations of some pod compare numbers.
func (p Problem) ComparesTaints() bool {
	return slices.ContainsFunc(p.Documents, func(document map[string]any) bool {
		list, _, err := unstructured.NestedSlice(document, "spec", "template", "spec", "tolerations")
		return err == nil && slices.ContainsFunc(list, func(item any) bool {
			toleration, _ := item.(map[string]any)
			return toleration["operator"] == string(corev1.TolerationOpLt) || toleration["operator"] == string(corev1.TolerationOpGt)
		})
	})
}

// YAML are the manifests as text.
func (p Problem) YAML() ([]byte, error) {
	var out bytes.Buffer
	for _, document := range p.Documents {
		if isNode(document) {
			continue
		}
		text, err := yaml.Marshal(document)
		if err != nil {
			return nil, err
		}
		if out.Len() > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}

// objects reads the manifests as the product does, and expands them to what the cluster holds.
func (p Problem) objects(reader *manifest.Reader, c cloud.Cloud) ([]client.Object, error) {
	text, err := p.YAML()
	if err != nil {
		return nil, err
	}
	m, err := reader.Read("input.yaml", bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	objects := manifest.Expand(m.Objects)
	if !p.Disrupts() {
		return objects, nil
	}
	// No pod waits: what a pass does about those is judged without disruption.
	objects = slices.DeleteFunc(objects, func(o client.Object) bool {
		pod, ok := o.(*corev1.Pod)
		return ok && pod.Spec.NodeName == ""
	})
	for i, o := range objects {
		if pod, ok := o.(*corev1.Pod); ok {
			objects[i] = started(pod)
		}
	}
	nodes, err := p.nodes(objects, c)
	return append(objects, nodes...), err
}

// Scenario is the problem in the format of package scenariofile, with a plan or commands.
func (p Problem) Scenario(comment, plan string) ([]byte, error) {
	text, err := p.YAML()
	if err != nil {
		return nil, err
	}
	archive := &txtar.Archive{Comment: fmt.Appendf(nil, "%s\n\n", comment)}
	add := func(name, text string) {
		if text != "" {
			archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(text)})
		}
	}
	add("options", p.options())
	add("input.yaml", string(text))
	if p.Disrupts() {
		add("nodes", p.nodeLines())
		add("disrupt", plan)
	} else {
		add("plan", plan)
	}
	return txtar.Format(archive), nil
}

// options are the settings of the problem as the options of a scenario.
func (p Problem) options() string {
	options := ""
	if p.BestEffort {
		options += "min-values-policy: BestEffort\n"
	}
	if p.Preferences != "" {
		options += "preference-policy: " + string(p.Preferences) + "\n"
	}
	if p.ComparesTaints() {
		options += "compare-tolerations: true\n"
	}
	if p.Disrupts() {
		options += "spot-to-spot: true\nnow: " + now().Format(time.RFC3339) + "\n"
	}
	return options
}

func (p Problem) random() *rand.Rand { return rand.New(rand.NewPCG(p.Seed, uint64(len(p.Documents)))) }
