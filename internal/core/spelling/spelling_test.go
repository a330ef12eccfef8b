package spelling

import (
	"slices"
	"testing"
)

func TestNearest(t *testing.T) {
	for _, tc := range []struct {
		word  string
		words []string
		want  []string
	}{
		{"us-east-1z", []string{"eu-west-1a", "us-east-1b", "us-east-1a"}, []string{"us-east-1a", "us-east-1b", "eu-west-1a"}},
		{"defalt", []string{"gpu", "default", "defunct"}, []string{"default", "defunct", "gpu"}},
		{"", []string{"ab", "a"}, []string{"a", "ab"}},
		{"m5.larg", []string{"m5.xlarge", "m5.large"}, []string{"m5.large", "m5.xlarge"}},
		{"x", nil, []string{}},
	} {
		if got := Nearest(tc.word, tc.words); !slices.Equal(got, tc.want) {
			t.Errorf("nearest to %q: %q, want %q", tc.word, got, tc.want)
		}
	}
}

func TestSuggest(t *testing.T) {
	keys := []string{"karpenter.k8s.aws/instance-family", "topology.kubernetes.io/zone"}
	for word, want := range map[string]string{
		"karpenter.k8s.aws/instance-famly": "karpenter.k8s.aws/instance-family",
		"topology.kubernetes/zone":         "topology.kubernetes.io/zone",
		"example.com/team":                 "",
	} {
		if got, ok := Suggest(word, keys); got != want || ok != (want != "") {
			t.Errorf("suggestion for %q: %q, %t, want %q", word, got, ok, want)
		}
	}
	if got, ok := Suggest("x", nil); ok {
		t.Errorf("suggestion %q among no words", got)
	}
}

func TestDidYouMean(t *testing.T) {
	for _, tc := range []struct {
		word  string
		words []string
		want  string
	}{
		{"explian", []string{"explain", "simulate"}, `, did you mean "explain"?`},
		{"web", []string{"web-2", "batch", "web-1", "wep"}, `, did you mean one of "web-1", "web-2", "wep"?`},
		{"web", []string{"web-4", "web-3", "web-2", "web-1"}, `, did you mean one of "web-1", "web-2", "web-3"?`},
		{"defalt", []string{"default", "default"}, `, did you mean "default"?`},
		{"np", []string{"nc", "no"}, ""},
		{"gpu", []string{"gpu"}, ""},
		{"", []string{"a"}, ""},
		{"web", nil, ""},
	} {
		if got := DidYouMean(tc.word, tc.words); got != tc.want {
			t.Errorf("for %q among %q: %q, want %q", tc.word, tc.words, got, tc.want)
		}
	}
}
