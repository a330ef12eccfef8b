package v1_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// TestNillableDurationRoundTrip checks that what was decoded is encoded again to the letter, in JSON and in maps.
func TestNillableDurationRoundTrip(t *testing.T) {
	for text, want := range map[string]*time.Duration{
		"720h":     new(720 * time.Hour),
		"43200m":   new(720 * time.Hour),
		"720h0m0s": new(720 * time.Hour),
		"0s":       new(time.Duration(0)),
		"1h30m":    new(90 * time.Minute),
		"2562048h": new(time.Duration(math.MaxInt64)), // longer than Go can count
		"Never":    nil,
	} {
		raw := `{"template":{"spec":{"requirements":null,"nodeClassRef":null,"expireAfter":"` + text + `"}},"disruption":{"consolidateAfter":"` + text + `"}}`
		var spec v1.NodePoolSpec
		if err := json.Unmarshal([]byte(raw), &spec); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, spec.Template.Spec.ExpireAfter.Duration); diff != "" {
			t.Errorf("%s decodes to (-want +got)\n%s", text, diff)
		}
		encoded, err := json.Marshal(spec.DeepCopy())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(raw, string(encoded)); diff != "" {
			t.Errorf("%s encodes to (-want +got)\n%s", text, diff)
		}
		unstructured, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
		if err != nil {
			t.Fatal(err)
		}
		if got := unstructured["disruption"].(map[string]any)["consolidateAfter"]; got != text {
			t.Errorf("%s becomes %v in a map", text, got)
		}
		var back v1.NodePoolSpec
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(unstructured, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(spec.Disruption.ConsolidateAfter, back.Disruption.ConsolidateAfter); diff != "" {
			t.Errorf("%s comes back from a map as (-want +got)\n%s", text, diff)
		}
	}
}

// TestNillableDurationMadeInCode checks the encoding of durations that were never decoded, or replaced since.
func TestNillableDurationMadeInCode(t *testing.T) {
	replaced, cleared := duration("720h"), duration("720h")
	replaced.Duration = new(time.Hour)
	cleared.Duration = nil
	for _, test := range []struct {
		name     string
		duration v1.NillableDuration
		want     string
	}{
		{"zero value", v1.NillableDuration{}, "Never"},
		{"720h", v1.NewNillableDuration(720 * time.Hour), "720h0m0s"},
		{"0s", v1.NewNillableDuration(0), "0s"},
		{"replaced", replaced, "1h0m0s"},
		{"cleared", cleared, "Never"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := json.Marshal(test.duration)
			if err != nil || string(got) != `"`+test.want+`"` {
				t.Errorf("JSON: %s, %v, want %q", got, err, test.want)
			}
			if got := test.duration.ToUnstructured(); got != test.want {
				t.Errorf("map: %v, want %q", got, test.want)
			}
		})
	}
}

// TestNillableDurationRejects checks that errors name the text and say what is wanted.
func TestNillableDurationRejects(t *testing.T) {
	for _, raw := range []string{`"never"`, `"10"`, `"1d"`, `""`, `5`, `{}`} {
		var d v1.NillableDuration
		err := json.Unmarshal([]byte(raw), &d)
		if err == nil || !strings.Contains(err.Error(), raw) || !strings.Contains(err.Error(), "Never") {
			t.Errorf("decoding %s: %v", raw, err)
		}
		if d.Duration != nil || d.Raw != nil {
			t.Errorf("decoding %s left %v behind", raw, d)
		}
	}
}

// TestNillableDurationAny checks that every duration survives being encoded and decoded.
func TestNillableDurationAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := v1.NewNillableDuration(time.Duration(rapid.Int64().Draw(t, "nanoseconds")))
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got v1.NillableDuration
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		if *got.Duration != *want.Duration {
			t.Errorf("%v became %v", *want.Duration, *got.Duration)
		}
	})
}
