package manifest

import (
	"strings"
	"testing"
)

func TestTabsAreReported(t *testing.T) {
	reader := newReader(t)
	for _, c := range []struct{ name, text, want string }{
		{
			"in the indentation of a list's element", "kind: Pod\nspec:\n  containers:\n    - name: a\n\t  image: b\n",
			"x.yaml:5 (document 1): not YAML: column 1: a tab in the indentation, where only spaces are allowed; probably meant: 6 spaces, in line with the text above",
		},
		{
			"after spaces, in the second document", "kind: A\napiVersion: v1\nmetadata: {name: a}\n---\nmetadata:\n  labels:\n    a: b\n  \t  c: d\n",
			"x.yaml:8 (document 2): not YAML: column 3: a tab in the indentation, where only spaces are allowed; probably meant: 4 spaces",
		},
		{"in a text it is none", "kind: ConfigMap\ndata:\n  a: |\n    b:\n    \tc\n   d: [\n", "not YAML: did not find expected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := reader.Read("x.yaml", strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestUntabbedIsReadable(t *testing.T) {
	parts, err := Parts([]string{Stdin}, strings.NewReader("a:\n  - b: c\n\td: e\n\tf: g\n"))
	if err != nil || len(parts) != 1 {
		t.Fatal(err)
	}
	repaired, ok := parts[0].Untabbed()
	if want := "a:\n  - b: c\n    d: e\n    f: g\n"; !ok || string(repaired.Text()) != want {
		t.Errorf("got %q, want %q", repaired.Text(), want)
	}
	if _, err := parts[0].Content(); err == nil || string(parts[0].Text()) == string(repaired.Text()) {
		t.Error("the part itself has changed")
	}
	if _, ok := repaired.Untabbed(); ok {
		t.Error("there is nothing to replace any more")
	}
}

func TestObjectsOfEarlierAPIsAreReported(t *testing.T) {
	_, err := newReader(t).Read("x.yaml", strings.NewReader("apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\n"))
	if err == nil || !strings.Contains(err.Error(), "x.yaml:1 (document 1): Provisioner a: apiVersion: karpenter.sh/v1alpha5 is not read; for objects of earlier APIs there is karpenter convert") {
		t.Errorf("got %v", err)
	}
}

func TestCheckFillsInDefaults(t *testing.T) {
	reader := newReader(t)
	content := map[string]any{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"weight": int64(0)}}
	found := reader.Check(content)
	if len(found) != 2 || found[0].Field != "spec.template" || found[1].Field != "spec.weight" {
		t.Errorf("found %v", found)
	}
	if content["spec"].(map[string]any)["disruption"] == nil {
		t.Error("the defaults are not there")
	}
	if found := reader.Check(map[string]any{"apiVersion": "v1", "kind": "Unheard"}); found != nil {
		t.Errorf("found %v in an object without a definition", found)
	}
}
