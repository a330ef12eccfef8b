// Package operations translates OperationsPolicies for the engine, and checks what the API server cannot: cron expressions, time zones and
// selectors. It knows what NodeClaims cost under caps.
//
// Source: docs/operations-policy.md.
package operations

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // time zones by name, in images that have none

	"github.com/robfig/cron/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/core/policy"
)

// Policies translates OperationsPolicies. Invalid ones are part of the result and close their NodePools.
func Policies(list []opsv1alpha1.OperationsPolicy) policy.Set {
	out := make([]policy.Policy, 0, len(list))
	for i := range list {
		p, err := translate(&list[i])
		if err != nil {
			p.Invalid = err.Error()
		}
		out = append(out, p)
	}
	return policy.NewSet(out)
}

// Validate returns everything that is wrong with an OperationsPolicy, joined by "; ", each with the field that it is about.
func Validate(p *opsv1alpha1.OperationsPolicy) error {
	_, err := translate(p)
	return err
}

// Digest identifies the state of OperationsPolicies.
func Digest(list []opsv1alpha1.OperationsPolicy) string {
	parts := make([]string, len(list))
	for i := range list {
		parts[i] = string(list[i].UID) + "@" + fmt.Sprint(list[i].Generation)
	}
	return strings.Join(parts, ",")
}

// translate returns what can be used of a policy, and what is wrong with the rest. A cap that cannot be read is 0.
func translate(p *opsv1alpha1.OperationsPolicy) (policy.Policy, error) {
	spec := &p.Spec
	var findings []string
	note := func(field string, err error) {
		if err != nil {
			findings = append(findings, field+": "+err.Error())
		}
	}
	out := policy.Policy{Name: p.Name}
	var err error
	out.Selects, err = selection(spec.NodePoolSelector)
	note("spec.nodePoolSelector", err)
	for i := range spec.Windows {
		w, err := window(&spec.Windows[i])
		note(fmt.Sprintf("spec.windows[%d]", i), err)
		out.Windows = append(out.Windows, w)
	}
	if f := spec.Freeze; f != nil {
		out.Freeze = &policy.Freeze{Until: f.Until.Time, Why: f.Why, Reasons: reasons(f.Reasons)}
	}
	if c := spec.Caps; c != nil {
		out.PoolCap, err = limit(c.NodePool)
		note("spec.caps.nodePool", err)
		out.ClusterCap, err = limit(c.Cluster)
		note("spec.caps.cluster", err)
	}
	if s := spec.SoftExpiry; s != nil {
		out.SoftExpiry = &policy.SoftExpiry{Before: s.Before.Duration, Jitter: s.Before.Duration / 2}
		if s.Jitter != nil {
			out.SoftExpiry.Jitter = s.Jitter.Duration
		}
	}
	out.Approval, err = approval(spec.Approval)
	note("spec.approval.above.costPerHour", err)
	if len(findings) > 0 {
		return out, errors.New(strings.Join(findings, "; "))
	}
	return out, nil
}

// selection is which NodePools a selector selects, by their labels. A selector that cannot be read selects all: it is not known which ones.
func selection(s *metav1.LabelSelector) (func(map[string]string) bool, error) {
	everything := func(map[string]string) bool { return true }
	if s == nil {
		return everything, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return everything, err
	}
	return func(of map[string]string) bool { return selector.Matches(labels.Set(of)) }, nil
}

func window(w *opsv1alpha1.MaintenanceWindow) (policy.Window, error) {
	out := policy.Window{Reasons: reasons(w.Reasons), Duration: w.Duration.Duration, Hourly: everyHour(w.Schedule)}
	if w.TimeZone == "Local" {
		return out, errors.New(`timeZone "Local" depends on the process: write a name such as Europe/Berlin`)
	}
	in, err := time.LoadLocation(w.TimeZone)
	if err != nil {
		return out, fmt.Errorf("timeZone %q: want a name of the IANA time zone database such as Europe/Berlin: %w", w.TimeZone, err)
	}
	out.Location = in
	evaluatedIn := "UTC"
	if out.Hourly {
		evaluatedIn = in.String()
	}
	// The parser would let a schedule choose its own time zone; the prefix makes a second choice a syntax error.
	out.Schedule, err = cron.ParseStandard("TZ=" + evaluatedIn + " " + w.Schedule)
	if err != nil {
		return out, fmt.Errorf("schedule %q: want five cron fields or a descriptor such as @daily: %w", w.Schedule, err)
	}
	if w.Duration.Duration < time.Minute {
		return out, fmt.Errorf("duration %s: want a minute or more", w.Duration.Duration)
	}
	return out, nil
}

// everyHour reports whether a cron expression hits every hour of its days.
func everyHour(schedule string) bool {
	fields := strings.Fields(schedule)
	return schedule == "@hourly" || len(fields) == 5 && fields[1] == "*"
}

func reasons(list []opsv1alpha1.DisruptionReason) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, r := range list {
		out[i] = string(r)
	}
	return out
}

// defaultValidFor is how long a proposal stays valid if the policy does not say.
const defaultValidFor = 24 * time.Hour

// approval translates which disruption has to be approved. A threshold that cannot be read is 0.
func approval(a *opsv1alpha1.Approval) (*policy.Approval, error) {
	if a == nil || a.Mode == opsv1alpha1.ApprovalNever {
		return nil, nil
	}
	out := &policy.Approval{Always: a.Mode != opsv1alpha1.ApprovalAbove || a.Above == nil, Reasons: reasons(a.Reasons), ValidFor: defaultValidFor}
	if a.ValidFor != nil {
		out.ValidFor = a.ValidFor.Duration
	}
	if out.Always {
		return out, nil
	}
	count := func(n *int32) *int {
		if n == nil {
			return nil
		}
		return new(int(*n))
	}
	out.Nodes, out.Risk = count(a.Above.Nodes), count(a.Above.Risk)
	var err error
	out.Cost, err = limit(a.Above.CostPerHour)
	return out, err
}

func limit(text *string) (*policy.Dollars, error) {
	if text == nil {
		return nil, nil
	}
	d, err := policy.ParseDollars(*text)
	return &d, err
}
