package quantity_test

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-anew/karpenter/api/quantity"
)

// takesLong are quantities that the usual pattern of definitions admits and that Kubernetes takes seconds or hours to read, compare or add.
func takesLong() []string {
	return []string{
		"1e-999999999", "1e999999999", "1E-2147483647", "1e130", "-1e-130", "0.1e-1000000000", "1.5E+1000000000", "1e99999999999999999999",
		strings.Repeat("9", 1_000_000), strings.Repeat("9", 100_000) + "n", "-" + strings.Repeat("0", 129), "1." + strings.Repeat("3", 200) + "Gi",
	}
}

func TestQuantitiesAreBounded(t *testing.T) {
	pattern, usual := regexp.MustCompile(quantity.Pattern), regexp.MustCompile(quantity.Usual)
	for _, text := range takesLong() {
		if !usual.MatchString(text) {
			t.Errorf("the usual pattern refuses %.40s, so that this shows nothing", text)
		}
		if q, err := quantity.Parse(text); err == nil || len(err.Error()) > 120 {
			t.Errorf("%.40s is read as %.40s, with error %.200v", text, q.String(), err)
		}
		if pattern.MatchString(text) {
			t.Errorf("the pattern admits %.40s", text)
		}
	}
	for _, text := range []string{"e8700000", "+E-999999999", ".e130"} { // the usual pattern refuses these, files may have them
		if q, err := quantity.Parse(text); err == nil {
			t.Errorf("%s is read as %.40s", text, q.String())
		}
	}
	for _, text := range []string{"1", "500m", "1.5Gi", "1e3", "1E3", "1E", "-2", "+.5k", "1e+9", "1e-9", "12e99", "1000e99", "1e129", "9223372036854775807", "0.333333333333333333333333333333"} {
		got, err := quantity.Parse(text)
		if want := resource.MustParse(text); err != nil || got.Cmp(want) != 0 {
			t.Errorf("%s is read as %s, with error %v", text, got.String(), err)
		}
		if !pattern.MatchString(text) {
			t.Errorf("the pattern refuses %s", text)
		}
	}
}

// FuzzParse checks that a text is refused or read in a moment, can be compared and added in a moment, and that what the pattern of
// definitions admits can be read, and is admitted again in the form that Kubernetes gives it.
func FuzzParse(f *testing.F) {
	for _, seed := range append(takesLong(), "1", "1e1.5", "1000e99", "999e99", "1e129", "100e129", "1e-9", "1Ki", "1E", "1E1", ".", "+", "", "1e", "1e+", "0e99", "123456789012345678901234567890e99") {
		f.Add(seed)
	}
	thirty := strings.Repeat("9", 30)
	for _, seed := range []string{thirty + "." + thirty + "e98", thirty + "." + thirty + "e-98", thirty + ".5", "1" + strings.Repeat("0", 29) + "e99", thirty + "." + thirty + "Ei", "." + thirty + "Ki"} {
		f.Add(seed)
	}
	pattern := regexp.MustCompile(quantity.Pattern)
	f.Fuzz(func(t *testing.T, text string) {
		began := time.Now()
		admitted := pattern.MatchString(text)
		q, err := quantity.Parse(text)
		if err != nil {
			if admitted {
				t.Errorf("%q is admitted and cannot be read: %v", text, err)
			}
			return
		}
		sum := q.DeepCopy()
		sum.Add(resource.MustParse("1"))
		if q.Cmp(sum) > 0 {
			t.Errorf("%q is more than itself and 1, %s", text, sum.String())
		}
		again, err := json.Marshal(q)
		if err != nil {
			t.Fatalf("%q cannot be written: %v", text, err)
		}
		if rewritten := strings.Trim(string(again), `"`); admitted && !pattern.MatchString(rewritten) {
			t.Errorf("%q is admitted, and then refused as %q", text, rewritten)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("%q takes %s", text, took)
		}
	})
}

func TestUnreadable(t *testing.T) {
	var content any
	if err := json.Unmarshal([]byte(`{
		"metadata": {"labels": {"commit": "1e999999999"}, "annotations": {"a": "1e1.5"}},
		"spec": {"template": {"spec": {
			"OverHead": {"cpu": "x"},
			"containers": [{"name": "1e999999999", "resources": {"requests": {"cpu": "1", "example.com/a": "1e999999999"}, "limits": {"cpu": 5}}}],
			"volumes": [{"emptyDir": {"sizeLimit": "1e-999999999"}}, {"name": "1e1.5"}, null]
		}}},
		"invented": {"cpu": "1e999999999"}
	}`), &content); err != nil {
		t.Fatal(err)
	}
	got := quantity.Unreadable(content, reflect.TypeFor[*appsv1.Deployment]())
	want := []string{
		"spec.template.spec.OverHead.cpu", "spec.template.spec.containers[0].resources.requests[example.com/a]", "spec.template.spec.volumes[0].emptyDir.sizeLimit",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if found := quantity.Unreadable("1e999999999", reflect.TypeFor[string]()); found != nil {
		t.Errorf("a string has %q", found)
	}
}
