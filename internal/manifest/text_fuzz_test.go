package manifest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// bomb is YAML whose aliases expand to 10^levels nodes.
func bomb(levels int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < levels; i++ {
		fmt.Fprintf(&b, "a%d: &a%[1]d [%s]\n", i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return b.String()
}

// TestTextThatExpandsIsRefused: aliases that expand to a billion nodes, and nesting of a million levels, are refused in a moment.
func TestTextThatExpandsIsRefused(t *testing.T) {
	const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for name, text := range map[string]string{
		"aliases": head + bomb(9), "merged aliases": head + "x: &x {a: 1}\ny: {<<: [" + strings.TrimSuffix(strings.Repeat("*x,", 300_000), ",") + "]}\n" + bomb(9),
		"lists in YAML": head + "data: " + strings.Repeat("[", 1_000_000), "maps in YAML": head + "data: " + strings.Repeat("{a: ", 1_000_000),
		"lists in JSON": `{"apiVersion":"v1","kind":"Pod","spec":` + strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000) + "}",
	} {
		began := time.Now()
		if _, err := kinds().judge.Read(name, strings.NewReader(text)); err == nil || len(err.Error()) > 4<<10 {
			t.Errorf("%s: error %.200v", name, err)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s take %s", name, took)
		}
	}
}

// FuzzText checks that a manifest of any text is refused, or that its objects have names and are read again from what they are written as.
func FuzzText(f *testing.F) {
	for _, seed := range []string{
		"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {limits: {cpu: 1e-999999999}}\n",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, resources: {requests: {cpu: 1e999999999}}}]}\n",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {commit: 1e999999999}}\nspec: {nodeSelector: {a: b}, containers: [{name: c, resources: {requests: {cpu: 100m}}}]}\n",
		"apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Node, metadata: {name: n}}, null, {kind: List}]\n", "---\n---\n# a\n--- # b\nnull\n",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 9223372036854775807, selector: {}, template: {}}\n",
		"kind:\tPod\napiVersion: v1\n", "a: &a [*a]", "? [a]: b", "!!binary AA==", "a: 1\na: 2", "\xff\xfe", "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: a}\nspec: {}\n",
		bomb(5),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		began := time.Now()
		read, err := kinds().judge.Read("text", strings.NewReader(text))
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%q takes %s", text, took)
		}
		if err != nil {
			return
		}
		for _, o := range read.Objects {
			raw, err := json.Marshal(o)
			if err != nil || o.GetName() == "" {
				t.Fatalf("%q has %q, which cannot be written: %v", text, o.GetName(), err)
			}
			written, err := yaml.JSONToYAML(raw)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := kinds().judge.Read("written", strings.NewReader(string(written))); err != nil && len(strings.TrimSpace(text)) > 0 {
				t.Errorf("%q is written as %s, which is refused: %v", text, written, err)
			}
		}
	})
}
