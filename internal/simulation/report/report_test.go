package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/simulation"
	"github.com/karpenter-anew/karpenter/test/scenario/scenariofile"
	"github.com/karpenter-anew/karpenter/test/scenario/scenariorun"
)

// TestScenarios checks the report of every scenario: the sums are those of the plan, every pod occurs exactly once, and every
// launch has an offering.
func TestScenarios(t *testing.T) {
	scenarios, err := scenariofile.Load("../../../test/scenario/testdata")
	if err != nil {
		t.Fatal(err)
	}
	reader, clouds := scenariorun.Reader(t), scenariorun.Clouds(t)
	for _, s := range scenarios {
		vendor := clouds(s.Options.Catalog)
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			objects := manifest.Expand(scenariorun.Objects(t, reader, s))
			result, err := simulation.Run(context.Background(), objects, vendor, scenariorun.Settings(t, s))
			if err != nil {
				t.Fatal(err)
			}
			judge(t, s, objects, Build(result, Extras{}))
		})
	}
}

func judge(t *testing.T, s scenariofile.Scenario, objects []client.Object, r Report) {
	t.Helper()
	sum := fmt.Sprintf("total %s, $%s/h\n", plural(r.Total.Nodes, "node"), price(r.Total.PricePerHour))
	if !strings.HasSuffix(s.Plan, sum) {
		t.Errorf("the sum is %q, the plan says %s", sum, s.Plan)
	}
	if refused := regexp.MustCompile(`(?m)^refuse `).MatchString(s.Plan); refused != (r.Total.Pods.Unschedulable > 0) {
		t.Errorf("%d pods fit nowhere, the plan says %s", r.Total.Pods.Unschedulable, s.Plan)
	}
	nodes := 0
	for _, l := range r.Launches {
		nodes += l.Count
		if len(l.Zones) == 0 || len(l.CapacityTypes) == 0 || l.Count != len(l.Nodes) {
			t.Errorf("a launch that cannot be: %+v", l)
		}
	}
	if least := r.Total.LowerBoundPerHour; least < 0 || least > r.Total.PricePerHour {
		t.Errorf("nothing costs less than %v, and the plan costs %v", least, r.Total.PricePerHour)
	}
	if nodes != r.Total.Nodes {
		t.Errorf("%d nodes in the launches, %d in the sum", nodes, r.Total.Nodes)
	}
	seen := everyPod(r)
	for i := 1; i < len(seen); i++ {
		if seen[i] == seen[i-1] {
			t.Errorf("pod %s is in two places", seen[i])
		}
	}
	for _, o := range objects {
		pod, ok := o.(*corev1.Pod)
		if !ok || pod.Spec.NodeName != "" {
			continue
		}
		if _, found := slices.BinarySearch(seen, pod.Namespace+"/"+pod.Name); !found {
			t.Errorf("pod %s/%s is nowhere", pod.Namespace, pod.Name)
		}
	}
	for _, u := range r.Unschedulable {
		for _, why := range u.Reasons {
			if why.Message == "" || why.Help == "" {
				t.Errorf("a reason without message or help: %+v", why)
			}
		}
	}
}

// everyPod is the pods of a report, sorted.
func everyPod(r Report) []string {
	var out []string
	for _, l := range r.Launches {
		for _, n := range l.Nodes {
			out = append(out, n.Pods...)
		}
	}
	for _, p := range r.Placements {
		out = append(out, p.Pods...)
	}
	for _, u := range r.Unschedulable {
		out = append(out, u.Pods...)
	}
	for _, i := range r.Ignored {
		out = append(out, i.Pods...)
	}
	slices.Sort(out)
	return out
}

// TestEveryFieldIsDocumented looks for the name of every field of the document in the page about it.
func TestEveryFieldIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/simulate.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range fieldNames(reflect.TypeFor[Report]()) {
		if !regexp.MustCompile("`[^`]*\\b" + name + `\b`).Match(page) {
			t.Errorf("docs/simulate.md does not mention the field %s", name)
		}
	}
}

// fieldNames returns the JSON names of the fields of a type and of the types of its fields.
func fieldNames(of reflect.Type) []string {
	switch of.Kind() {
	case reflect.Slice, reflect.Map:
		return fieldNames(of.Elem())
	case reflect.Struct:
		var out []string
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			out = append(append(out, name), fieldNames(of.Field(i).Type)...)
		}
		return out
	}
	return nil
}

func TestBrace(t *testing.T) {
	for _, c := range []struct {
		want  string
		names []string
	}{
		{"", nil},
		{"zone-a", []string{"zone-a"}},
		{"zone-{a,b}", []string{"zone-a", "zone-b"}},
		{"eu-{a,b-1}", []string{"eu-a", "eu-b-1"}},
		{"a b", []string{"a", "b"}},
		{"eu-west us-east", []string{"eu-west", "us-east"}},
		{"zone{,-b}", []string{"zone", "zone-b"}},
	} {
		if got := brace(c.names); got != c.want {
			t.Errorf("%v reads %q, want %q", c.names, got, c.want)
		}
	}
}

func TestGridAlignsByCharactersAndWrapsTheLastColumn(t *testing.T) {
	var g grid
	long := strings.Repeat("x", wrapWidth-2)
	g.add([]string{"below"}, "3 ×", "é", "a, "+long+", b")
	g.add(nil, "10 ×", "two", "c")
	var b strings.Builder
	g.write(&b)
	want := "  3 ×   é    a,\n" +
		"             " + long + ",\n" +
		"             b\n" +
		"        below\n" +
		"  10 ×  two  c\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestRequirementsShowFiveValues(t *testing.T) {
	got := requirementList([]Requirement{
		{Key: "a", Operator: "In", Values: []string{"1", "2", "3", "4", "5", "6", "7"}, MinValues: 2}, {Key: "b", Operator: "Exists"},
	})
	if want := "a In [1 2 3 4 5 and 2 others] minValues 2, b Exists"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPoolsWithTheSameReasonShareALine checks that two pools with the same reason share a line.
func TestPoolsWithTheSameReasonShareALine(t *testing.T) {
	var b strings.Builder
	same := Reason{Code: "X", Message: "no", Help: "ask"}
	first, second, third := same, same, same
	first.NodePool, second.NodePool, third.NodePool, third.Message = "a", "b", "c", "never"
	Refusal{Workloads: []Workload{{Kind: "Job", Name: "calc", Pods: 1}}, Reasons: []Reason{first, second, third}}.write(&b)
	want := "  1 calc\n    a, b: no\n      what would help: ask\n    c: never\n      what would help: ask\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// shut is a writer that fails.
type shut struct{}

func (shut) Write([]byte) (int, error) { return 0, errors.New("shut") }

func TestWriteFails(t *testing.T) {
	if err := (Report{}).Write(&bytes.Buffer{}, "xml"); err == nil || !strings.Contains(err.Error(), "table, json, yaml") {
		t.Errorf("an unknown format ends with %v", err)
	}
	for _, format := range []Format{Table, JSON, YAML} {
		if err := (Report{}).Write(shut{}, format); err == nil {
			t.Errorf("%s: nothing was written and no error was returned", format)
		}
	}
}
