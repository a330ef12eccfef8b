package operations_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/core/policy"
	"github.com/karpenter-anew/karpenter/internal/operations"
)

func parse(t *testing.T, name, spec string) opsv1alpha1.OperationsPolicy {
	t.Helper()
	p := opsv1alpha1.OperationsPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := yaml.UnmarshalStrict([]byte(spec), &p.Spec); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPolicies(t *testing.T) {
	set := operations.Policies([]opsv1alpha1.OperationsPolicy{
		parse(t, "nights", `{nodePoolSelector: {matchLabels: {tier: prod}}, windows: [{schedule: "0 2 * * *", duration: 4h, timeZone: Europe/Berlin, reasons: [Drifted]}]}`),
		parse(t, "caps", `{caps: {nodePool: "1.50", cluster: "20"}, softExpiry: {before: 24h}}`),
	})
	noon := time.Date(2027, 6, 1, 12, 0, 0, 0, time.UTC)
	prod := map[string]string{"tier": "prod"}
	c, closed := set.Closed(prod, "Drifted", noon)
	if want := time.Date(2027, 6, 2, 0, 0, 0, 0, time.UTC); !closed || c.Policy != "nights" || !c.Until.Equal(want) {
		t.Errorf("closed=%v by %+v, want until %s", closed, c, want)
	}
	if c, closed := set.Closed(prod, "Empty", noon); closed {
		t.Errorf("closed for a reason that no window names: %+v", c)
	}
	if c, closed := set.Closed(nil, "Drifted", noon); closed {
		t.Errorf("another NodePool is closed: %+v", c)
	}
	if c, ok := set.PoolCap("a", nil); !ok || c.Limit != 1_500_000 {
		t.Errorf("cap of a NodePool: %+v", c)
	}
	if c, ok := set.ClusterCap(); !ok || c.Limit != 20_000_000 {
		t.Errorf("cap of the cluster: %+v", c)
	}
	if s := set.SoftExpiryOf(nil); s == nil || *s != (policy.SoftExpiry{Before: 24 * time.Hour, Jitter: 12 * time.Hour}) {
		t.Errorf("soft expiry: %+v", s)
	}
}

func TestApproval(t *testing.T) {
	set := operations.Policies([]opsv1alpha1.OperationsPolicy{
		parse(t, "a", `{nodePoolSelector: {matchLabels: {tier: prod}}, approval: {mode: Above, above: {costPerHour: "0.5", nodes: 3, risk: 0}, reasons: [Drifted], validFor: 1h}}`),
		parse(t, "b", `{nodePoolSelector: {matchLabels: {tier: dev}}, approval: {mode: Never}}`),
		parse(t, "c", `{nodePoolSelector: {matchLabels: {tier: test}}, approval: {mode: Always}}`),
	})
	prod, dev, test := map[string]string{"tier": "prod"}, map[string]string{"tier": "dev"}, map[string]string{"tier": "test"}
	if d, asked := set.Demand(prod, "Drifted", policy.Change{Cost: 0.5, Nodes: 3}); asked {
		t.Errorf("asked up to the thresholds: %+v", d)
	}
	for _, c := range []policy.Change{{Cost: -0.6}, {Nodes: 4}, {Risk: 1}} {
		if d, asked := set.Demand(prod, "Drifted", c); !asked || d.ValidFor != time.Hour || d.Policy != "a" {
			t.Errorf("%+v: asked=%v %+v", c, asked, d)
		}
	}
	if set.AsksFor(prod, "Empty") || set.AsksFor(dev, "Drifted") {
		t.Error("asked for another reason, or with the mode Never")
	}
	if d, asked := set.Demand(test, "Empty", policy.Change{}); !asked || d.ValidFor != 24*time.Hour {
		t.Errorf("mode Always: asked=%v %+v", asked, d)
	}
}

// TestEveryHourIsEveryHour: a window that opens every hour does so in both of two equal hours.
func TestEveryHourIsEveryHour(t *testing.T) {
	for _, schedule := range []string{"0 * * * *", "@hourly"} {
		set := operations.Policies([]opsv1alpha1.OperationsPolicy{parse(t, "a", `{windows: [{schedule: "`+schedule+`", duration: 30m, timeZone: Europe/Berlin}]}`)})
		first := time.Date(2027, 10, 31, 0, 10, 0, 0, time.UTC)
		for _, now := range []time.Time{first, first.Add(time.Hour), first.Add(2 * time.Hour)} {
			if c, closed := set.Closed(nil, "Empty", now); closed {
				t.Errorf("%s: closed at %s: %+v", schedule, now, c)
			}
		}
	}
}

func TestInvalidPoliciesCloseTheirPools(t *testing.T) {
	for spec, want := range map[string]string{
		`{windows: [{schedule: "0 2 * * *", duration: 1h, timeZone: Europe/Atlantis}]}`:                        `spec.windows[0]: timeZone "Europe/Atlantis"`,
		`{windows: [{schedule: "0 2 * * *", duration: 1h, timeZone: Local}]}`:                                  `spec.windows[0]: timeZone "Local"`,
		`{windows: [{schedule: "@daily", duration: 1h}, {schedule: "99 2 * * *", duration: 1h}]}`:              `spec.windows[1]: schedule "99 2 * * *"`,
		`{windows: [{schedule: "TZ=UTC 0 2 * * *", duration: 1h}]}`:                                            `spec.windows[0]: schedule "TZ=UTC 0 2 * * *"`,
		`{windows: [{schedule: "@daily", duration: 0h}]}`:                                                      `spec.windows[0]: duration 0s`,
		`{nodePoolSelector: {matchExpressions: [{key: a, operator: Near}]}}`:                                   `spec.nodePoolSelector: "Near"`,
		`{caps: {cluster: "99999999999999999999"}}`:                                                            `spec.caps.cluster: amount "99999999999999999999"`,
		`{caps: {nodePool: "x"}, windows: [{schedule: "0 2 * * *", duration: 1h, timeZone: Europe/Atlantis}]}`: `; spec.caps.nodePool: amount "x"`,
	} {
		p := parse(t, "a", spec)
		if err := operations.Validate(&p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", spec, err, want)
		}
		c, closed := operations.Policies([]opsv1alpha1.OperationsPolicy{p}).Closed(nil, "Empty", time.Now())
		if !closed || c.Kind != policy.Invalid || !strings.Contains(c.Why, want) {
			t.Errorf("%s: closed=%v by %+v", spec, closed, c)
		}
	}
}

// TestInvalidCapsAdmitNothing: what a cap that cannot be read would allow is not known.
func TestInvalidCapsAdmitNothing(t *testing.T) {
	set := operations.Policies([]opsv1alpha1.OperationsPolicy{parse(t, "a", `{caps: {cluster: "99999999999999999999"}}`)})
	if c, ok := set.ClusterCap(); !ok || c.Limit != 0 {
		t.Errorf("cap %+v, want 0", c)
	}
}
