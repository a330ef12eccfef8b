package policy_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/policy"
)

func TestParseDollars(t *testing.T) {
	for text, want := range map[string]string{"0": "$0.00/h", "12": "$12.00/h", "12.5": "$12.50/h", "0.000001": "$0.000001/h", "999999999999.999999": "$999999999999.999999/h"} {
		if d, err := policy.ParseDollars(text); err != nil || d.String() != want {
			t.Errorf("%s is %s, %v; want %s", text, d, err, want)
		}
	}
	for _, text := range []string{"", "-1", "1.0000001", "x", "99999999999999999999"} {
		if d, err := policy.ParseDollars(text); err == nil {
			t.Errorf("%q is %s, want an error", text, d)
		}
	}
}

func TestPriceOf(t *testing.T) {
	for _, test := range []struct {
		price float64
		want  policy.Dollars
	}{
		{0.1, 100_000},
		{0.0000001, 1},
		{0.0000012, 2},
		{-1, 0},
		{math.NaN(), policy.MostDollars},
		{math.Inf(1), policy.MostDollars},
		{1e300, policy.MostDollars},
		{0.1 + 0.2, 300_000},
		{3.06, 3_060_000},
	} {
		if got := policy.PriceOf(test.price); got != test.want {
			t.Errorf("the price %g counts as %d, want %d", test.price, got, test.want)
		}
	}
}

func dollars(t *testing.T, text string) *policy.Dollars {
	t.Helper()
	d, err := policy.ParseDollars(text)
	if err != nil {
		t.Fatal(err)
	}
	return &d
}

func TestTheLowestCapCounts(t *testing.T) {
	labeled := func(labels map[string]string) bool { return labels["tier"] == "dev" }
	set := policy.NewSet([]policy.Policy{
		{Name: "b", Selects: everything, PoolCap: dollars(t, "10"), ClusterCap: dollars(t, "100")},
		{Name: "a", Selects: everything, ClusterCap: dollars(t, "50")},
		{Name: "c", Selects: labeled, PoolCap: dollars(t, "2")},
	})
	if c, ok := set.PoolCap("x", nil); !ok || c != (policy.Cap{Policy: "b", Pool: "x", Limit: *dollars(t, "10")}) {
		t.Errorf("cap of a pool: %+v", c)
	}
	if c, ok := set.PoolCap("x", map[string]string{"tier": "dev"}); !ok || c.Policy != "c" {
		t.Errorf("cap of a selected pool: %+v", c)
	}
	if c, ok := set.ClusterCap(); !ok || c.Policy != "a" {
		t.Errorf("cap of the cluster: %+v", c)
	}
	if _, ok := (policy.Set{}).ClusterCap(); ok || (policy.Set{}).Capped() || !set.Capped() {
		t.Error("caps without a policy, or none with policies")
	}
}

func TestAdmit(t *testing.T) {
	pool, all := policy.Cap{Policy: "p", Pool: "a", Limit: *dollars(t, "2")}, policy.Cap{Policy: "c", Limit: *dollars(t, "3")}
	var s policy.Spend
	s.Add("a", "a-1", *dollars(t, "1.5"))
	s.Add("b", "b-1", *dollars(t, "1"))
	if err := s.Admit(*dollars(t, "0.5"), pool, all); err != nil {
		t.Errorf("a launch up to both caps is refused: %v", err)
	}
	var exceeded *policy.ExceededError
	if err := s.Admit(*dollars(t, "0.500001"), all, pool); !errors.As(err, &exceeded) || exceeded.Cap != all {
		t.Errorf("a launch over the cap of the cluster: %v", err)
	}
	if err := s.Admit(*dollars(t, "0.6"), pool); err == nil || !strings.Contains(err.Error(), `nodepool "a"`) {
		t.Errorf("a launch over the cap of the pool: %v", err)
	}
	s.Add("b", "b-2", policy.MostDollars)
	if err := s.Admit(0, pool); err != nil {
		t.Errorf("an unknown price in another pool closes the pool: %v", err)
	}
	if err := s.Admit(0, all); err == nil || !strings.Contains(err.Error(), "the price of NodeClaims b-2 is not known") {
		t.Errorf("an unknown price does not close the cluster: %v", err)
	}
}
