package volume

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

func in(key string, values ...string) requirement.Requirement {
	return requirement.New(key, requirement.In, values...)
}

func set(reqs ...requirement.Requirement) requirement.Set { return requirement.NewSet(reqs...) }

func texts(list []requirement.Set) []string {
	var out []string
	for _, s := range list {
		out = append(out, s.String())
	}
	return out
}

func TestUnion(t *testing.T) {
	t.Attr("covers", "L283")
	for _, c := range []struct {
		name string
		in   []requirement.Set
		want []string
	}{
		{"nothing", nil, nil},
		{"one", []requirement.Set{set(in("zone", "a"))}, []string{"zone In [a]"}},
		{"values of one label become one alternative", []requirement.Set{set(in("zone", "b")), set(in("zone", "a"))}, []string{"zone In [a b]"}},
		{"repetitions", []requirement.Set{set(in("zone", "a")), set(in("zone", "a"))}, []string{"zone In [a]"}},
		{
			"what is told apart by two labels stays apart",
			[]requirement.Set{set(in("zone", "a"), in("rack", "1")), set(in("zone", "b"), in("rack", "2"))},
			[]string{"rack In [1], zone In [a]", "rack In [2], zone In [b]"},
		},
		{
			"what grew is joined again",
			[]requirement.Set{
				set(in("zone", "a"), in("rack", "1")), set(in("zone", "b"), in("rack", "2")),
				set(in("zone", "b"), in("rack", "1")), set(in("zone", "a"), in("rack", "2")),
			},
			[]string{"rack In [1 2], zone In [a b]"},
		},
		{
			"only lists are joined",
			[]requirement.Set{set(requirement.New("zone", requirement.NotIn, "a")), set(in("zone", "a"))},
			[]string{"zone NotIn [a]", "zone In [a]"},
		},
		{"an alternative without requirements", []requirement.Set{set(in("zone", "a")), set()}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, texts(Union(c.in))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestTogether(t *testing.T) {
	t.Attr("covers", "L282")
	zones := func(names ...string) []requirement.Set { return Union([]requirement.Set{set(in("zone", names...))}) }
	for _, c := range []struct {
		name string
		in   [][]requirement.Set
		want []string
	}{
		{"no volume", nil, nil},
		{"a volume that can be used anywhere", [][]requirement.Set{nil, zones("a"), nil}, []string{"zone In [a]"}},
		{"the common zone", [][]requirement.Set{zones("a", "b"), zones("b", "c")}, []string{"zone In [b]"}},
		{"no common zone", [][]requirement.Set{zones("a"), zones("b"), zones("a")}, []string{"zone DoesNotExist"}},
		{
			"combinations that contradict themselves are left out",
			[][]requirement.Set{
				{set(in("zone", "a"), in("rack", "1")), set(in("zone", "b"), in("rack", "2"))},
				zones("b", "c"),
			},
			[]string{"rack In [2], zone In [b]"},
		},
		{
			"other labels multiply",
			[][]requirement.Set{zones("a", "b"), {set(in("rack", "1")), set(requirement.New("rack", requirement.DoesNotExist))}},
			[]string{"rack In [1], zone In [a b]", "rack DoesNotExist, zone In [a b]"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, texts(Intersection(c.in...))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestTogetherIsBounded(t *testing.T) {
	var volumes [][]requirement.Set
	for v := range 10 {
		var terms []requirement.Set
		for i := range 10 {
			terms = append(terms, set(in(fmt.Sprint("zone-", v), fmt.Sprint(i)), in(fmt.Sprint("rack-", v), fmt.Sprint(i))))
		}
		volumes = append(volumes, terms)
	}
	if n := len(Intersection(volumes...)); n != maxAlternatives {
		t.Errorf("%d alternatives, want %d", n, maxAlternatives)
	}
}

// TestTopologyMatchesItsDefinition compares with the definition: a node is accepted when it meets a term of every volume.
func TestTopologyMatchesItsDefinition(t *testing.T) {
	keys, values := []string{"zone", "rack"}, []string{"1", "2", "3"}
	rapid.Check(t, func(t *rapid.T) {
		var raw, volumes [][]requirement.Set
		for range rapid.IntRange(0, 3).Draw(t, "volumes") {
			var terms []requirement.Set
			for range rapid.IntRange(0, 3).Draw(t, "terms") {
				var term requirement.Set
				for _, key := range keys {
					if rapid.IntRange(0, 3).Draw(t, "mentioned") == 0 {
						continue
					}
					op := rapid.SampledFrom([]requirement.Operator{requirement.In, requirement.In, requirement.NotIn}).Draw(t, "operator")
					term = term.Add(requirement.New(key, op, rapid.SliceOfN(rapid.SampledFrom(values), 1, 2).Draw(t, "values")...))
				}
				terms = append(terms, term)
			}
			raw, volumes = append(raw, terms), append(volumes, Union(terms))
		}
		reach := Intersection(volumes...)
		for _, zone := range values {
			for _, rack := range values {
				node := requirement.Labels(map[string]string{"zone": zone, "rack": rack})
				want := true
				for _, terms := range raw {
					want = want && meets(node, terms)
				}
				if got := meets(node, reach); got != want {
					t.Fatalf("zone %s, rack %s: %v, want %v; volumes %v, reach %v", zone, rack, got, want, raw, reach)
				}
			}
		}
	})
}

func meets(node requirement.Set, alternatives []requirement.Set) bool {
	for _, one := range alternatives {
		if node.Compatible(one, requirement.Strict) {
			return true
		}
	}
	return len(alternatives) == 0
}
