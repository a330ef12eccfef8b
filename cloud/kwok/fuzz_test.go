package kwok

import (
	"math"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// FuzzInstanceTypes checks that a file of instance types is refused, or that each of them has a unique name, labels that nodes can have, a
// capacity that is not negative, and prices.
func FuzzInstanceTypes(f *testing.F) {
	known, err := os.ReadFile("devices.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(known)
	const requirements = `[{"key":"karpenter.sh/capacity-type","operator":"In","values":["spot"]},{"key":"topology.kubernetes.io/zone","operator":"In","values":["z"]}]`
	for _, resources := range []string{
		`{"cpu":"1","memory":"1Gi"}`, `{"cpu":1,"memory":1e20,"pods":"0"}`, `{"cpu":"1e-999999999","memory":"1e999999999"}`, `{"cpu":"100E","memory":"-1"}`, `{"cpu":null,"memory":"1"}`,
		`{"cpu":"1n","memory":"1n","a/b/c":"1"}`,
	} {
		f.Add([]byte(`[{"name":"a","architecture":"amd64","operatingSystems":["linux"],"resources":` + resources + `,"offerings":[{"Price":1,"Requirements":` + requirements + `}]}]`))
	}
	f.Add([]byte(`[{"name":"a","architecture":"amd64","operatingSystems":["linux"],"resources":{"cpu":"1","memory":"1"},` +
		`"resourceSlices":[{"driver":"d","pool":{"name":"p"},"devices":[{"name":"x","capacity":{"c":{"value":"1e-999999999"}}}]}]}]`))
	f.Add([]byte(`[{"name":"a"},null,[]]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		cat, err := parseFile(text)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, it := range instanceTypes(cat, labelRules(cat.offeringKeys)) {
			if seen[it.Name] {
				t.Errorf("%s is there twice", it.Name)
			}
			seen[it.Name] = true
			requirements := it.Requirements
			for _, o := range it.Offerings {
				requirements = append(requirements, o.Requirements...)
				if o.Price < 0 || math.IsInf(o.Price, 0) || math.IsNaN(o.Price) || o.ReservationCapacity < 0 && o.CapacityType() == v1.CapacityTypeReserved {
					t.Errorf("%s has offering %+v", it.Name, o)
				}
			}
			for _, r := range requirements {
				for _, value := range r.Values {
					if problems := append(validation.IsQualifiedName(r.Key), validation.IsValidLabelValue(value)...); len(problems) > 0 {
						t.Errorf("%s has the label %s=%s: %q", it.Name, r.Key, value, problems)
					}
				}
			}
			for name, amount := range it.Capacity {
				if amount.Sign() < 0 || len(validation.IsQualifiedName(string(name))) > 0 {
					t.Errorf("%s has %s of %q", it.Name, amount.String(), name)
				}
			}
		}
	})
}
