package scenariofile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sample = `A pod is placed.
covers: L001, L118

-- options --
preference-policy: Ignore
only: engine, because no cluster has this
-- input.yaml --
kind: Pod
-- plan --
total 0 nodes
`

func TestParse(t *testing.T) {
	s, err := Parse("dir/a-pod.txtar", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "a-pod" || s.Comment != "A pod is placed." || s.Plan != "total 0 nodes\n" || len(s.Inputs) != 1 {
		t.Errorf("got %+v", s)
	}
	if diff := cmp.Diff([]string{"L001", "L118"}, s.Covers); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Options{PreferencePolicy: "Ignore", EngineOnly: "no cluster has this"}, s.Options); diff != "" {
		t.Error(diff)
	}
	again, err := Parse("dir/a-pod.txtar", s.WithPlan("total 1 node\n"))
	if err != nil || again.Plan != "total 1 node\n" || again.Comment != s.Comment {
		t.Errorf("rewritten scenario reads as %+v, %v", again, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no comment":        "-- input.yaml --\nx\n",
		"no input":          "text\n-- plan --\n",
		"unknown file":      "text\n-- input.yaml --\nx\n-- plans --\n",
		"twice":             "text\n-- input.yaml --\nx\n-- input.yaml --\n",
		"unknown option":    "text\n-- input.yaml --\nx\n-- options --\ncatalogue: x\n",
		"no reason":         "text\n-- input.yaml --\nx\n-- options --\nonly: engine\n",
		"option in text":    "text\nonly: engine, because of this\n-- input.yaml --\nx\n",
		"not a line number": "text\ncovers: 63\n-- input.yaml --\nx\n",
	} {
		if _, err := Parse("a.txtar", []byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
