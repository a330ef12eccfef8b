package judge

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

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
	// Documents are the manifests.
	Documents []map[string]any
}

// settings are the options of the simulation.
func (p Problem) settings() simulation.Options {
	return simulation.Options{BestEffortMinValues: p.BestEffort}
}

// YAML are the manifests as text.
func (p Problem) YAML() ([]byte, error) {
	var out bytes.Buffer
	for i, document := range p.Documents {
		text, err := yaml.Marshal(document)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}

// objects reads the manifests as the product does, and expands them to what the cluster holds.
func (p Problem) objects(reader *manifest.Reader) ([]client.Object, error) {
	text, err := p.YAML()
	if err != nil {
		return nil, err
	}
	m, err := reader.Read("input.yaml", bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return manifest.Expand(m.Objects), nil
}

// Scenario is the problem in the format of package scenariofile, with a plan.
func (p Problem) Scenario(comment, plan string) ([]byte, error) {
	text, err := p.YAML()
	if err != nil {
		return nil, err
	}
	archive := &txtar.Archive{Comment: fmt.Appendf(nil, "%s\n\n", comment)}
	if p.BestEffort {
		archive.Files = append(archive.Files, txtar.File{Name: "options", Data: []byte("min-values-policy: BestEffort\n")})
	}
	archive.Files = append(archive.Files, txtar.File{Name: "input.yaml", Data: text}, txtar.File{Name: "plan", Data: []byte(plan)})
	return txtar.Format(archive), nil
}

func (p Problem) random() *rand.Rand { return rand.New(rand.NewPCG(p.Seed, uint64(len(p.Documents)))) }
