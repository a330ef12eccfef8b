// Package health asks EC2 again and again which instances fail its checks, or are about to be restarted or retired. What it finds is
// answered like what the queue of interruptions tells; no queue is needed for it.
//
// EC2 is asked for trouble only, so that healthy instances cost nothing. An instance that fails a check is ended by force, which is
// wrong if it is the check that fails: when much of a zone looks broken, only a part of it is ended at a time, and nothing in a zone
// that traffic is shifted away from.
//
// Source: AWS provider specification, instance status polling.
package health

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awserrors"
	"github.com/karpenter-anew/karpenter/cloud/aws/eventbridge"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancelookup"
	"github.com/karpenter-anew/karpenter/cloud/aws/telemetry"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

const (
	// failsFor is how long a check has to fail before it counts.
	impairedThreshold = 2 * time.Minute
	// deniedFor is how long nothing is asked after EC2 did not allow it.
	unauthorizedBackoff = 10 * time.Minute
	// atOnce is how many instances are answered for at the same time.
	concurrency = 10
	// page is how many instances a page holds.
	page = 1000
)

// EC2 is the call about the health of instances.
type EC2 interface {
	DescribeInstanceStatus(context.Context, *ec2.DescribeInstanceStatusInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceStatusOutput, error)
}

// Poll looks for instances that are not well. It is used by one goroutine.
type Poller struct {
	EC2    EC2
	Client client.Client
	// Manages says which claims are those of this cloud.
	Manages func(*v1.NodeClassReference) bool
	// Answer does what a notice calls for.
	Handle func(context.Context, eventbridge.Event) error
	// Shifted reports whether traffic is shifted away from the zone with an id; nil for never.
	Shifted func(zoneID string) bool
	Clock   clock.PassiveClock
	Metrics *telemetry.Metrics
	// DryRun lets instances be counted and nothing more.
	DryRun bool

	// counted are the troubles that were there the last time.
	reported map[reportedCondition]bool
	// deniedUntil is when EC2 may be asked again.
	unauthorizedUntil time.Time
}

// trouble is what an instance has.
type reportedCondition struct{ instanceID, category string }

// patient is an instance that is not well.
type impairedInstance struct {
	id    string
	claim *v1.NodeClaim
	// troubles are in the order in which they are answered: the worst first.
	conditions []unhealthyCondition
	// since is when the first of its checks failed; zero if none does.
	since time.Time
}

// category is a way not to be well.
type unhealthyCondition struct {
	name  string
	kind  eventbridge.Kind
	force bool
}

// The categories.
func instanceStatus() unhealthyCondition {
	return unhealthyCondition{"InstanceStatus", eventbridge.InstanceStatus, true}
}

func systemStatus() unhealthyCondition {
	return unhealthyCondition{"SystemStatus", eventbridge.SystemStatus, true}
}

func eventStatus() unhealthyCondition {
	return unhealthyCondition{"EventStatus", eventbridge.EventStatus, false}
}

// Look looks once. Where it is not allowed to, it says so and leaves EC2 alone for a while.
func (p *Poller) Poll(ctx context.Context) error {
	if p.Clock.Now().Before(p.unauthorizedUntil) {
		return nil
	}
	statuses, err := p.list(ctx)
	if awserrors.IsUnauthorized(err) {
		p.unauthorizedUntil = p.Clock.Now().Add(unauthorizedBackoff)
		observe.Log(ctx).ErrorContext(ctx, "instance status checks cannot be read: add ec2:DescribeInstanceStatus to the policy of the controller",
			"error", err, "next-try", unauthorizedBackoff.String())
		return nil
	}
	if err != nil {
		return err
	}
	patients, err := p.impaired(ctx, statuses)
	if err != nil {
		return err
	}
	p.count(patients)
	if p.DryRun {
		return nil
	}
	if err := p.limitForced(ctx, patients); err != nil {
		return err
	}
	return p.handle(ctx, patients)
}

// list are the instances in trouble as EC2 describes them, each once.
func (p *Poller) list(ctx context.Context) ([]ec2types.InstanceStatus, error) {
	seen := map[string]bool{}
	var out []ec2types.InstanceStatus
	for _, f := range []ec2types.Filter{
		{Name: aws.String("instance-status.status"), Values: []string{"impaired"}},
		{Name: aws.String("system-status.status"), Values: []string{"impaired"}},
		{Name: aws.String("event.code"), Values: []string{"instance-reboot", "system-reboot", "system-maintenance", "instance-retirement", "instance-stop"}},
	} {
		pages := ec2.NewDescribeInstanceStatusPaginator(p.EC2, &ec2.DescribeInstanceStatusInput{Filters: []ec2types.Filter{f}, MaxResults: aws.Int32(page)})
		for pages.HasMorePages() {
			found, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("listing instances by %s: %w", *f.Name, err)
			}
			for _, s := range found.InstanceStatuses {
				if id := aws.ToString(s.InstanceId); !seen[id] {
					seen[id] = true
					out = append(out, s)
				}
			}
		}
	}
	return out, nil
}

// patients are the instances that have trouble which counts, and a claim of this cloud.
func (p *Poller) impaired(ctx context.Context, statuses []ec2types.InstanceStatus) ([]*impairedInstance, error) {
	var out []*impairedInstance
	for i := range statuses {
		found := p.conditionsOf(&statuses[i])
		if len(found.conditions) == 0 {
			continue
		}
		claims, err := instancelookup.NodeClaims(ctx, p.Client, found.id)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(claims, func(c v1.NodeClaim) bool { return p.Manages(c.Spec.NodeClassRef) })
		if at >= 0 {
			found.claim = &claims[at]
			out = append(out, found)
		}
	}
	return out, nil
}

// examine finds out what is wrong with an instance. Disks that are attached to it do not count.
func (p *Poller) conditionsOf(s *ec2types.InstanceStatus) *impairedInstance {
	out := &impairedInstance{id: aws.ToString(s.InstanceId)}
	for _, check := range []struct {
		unhealthyCondition
		summary *ec2types.InstanceStatusSummary
	}{{instanceStatus(), s.InstanceStatus}, {systemStatus(), s.SystemStatus}} {
		since := p.failedSince(check.summary)
		if since.IsZero() {
			continue
		}
		out.conditions = append(out.conditions, check.unhealthyCondition)
		if out.since.IsZero() || since.Before(out.since) {
			out.since = since
		}
	}
	if slices.ContainsFunc(s.Events, isAhead) {
		out.conditions = append(out.conditions, eventStatus())
	}
	return out
}

// failedSince is when a check began to fail that fails for long enough; zero for none.
func (p *Poller) failedSince(s *ec2types.InstanceStatusSummary) time.Time {
	var out time.Time
	if s == nil {
		return out
	}
	for _, d := range s.Details {
		if d.Status != ec2types.StatusTypeFailed || d.ImpairedSince == nil || p.Clock.Since(*d.ImpairedSince) < impairedThreshold {
			continue
		}
		if out.IsZero() || d.ImpairedSince.Before(out) {
			out = *d.ImpairedSince
		}
	}
	return out
}

// isAhead reports whether an event is still to come. Events that are over are told of for a week.
func isAhead(e ec2types.InstanceStatusEvent) bool {
	text := aws.ToString(e.Description)
	return !strings.Contains(text, "[Completed]") && !strings.Contains(text, "[Canceled]")
}

// count counts what was not there the last time.
func (p *Poller) count(patients []*impairedInstance) {
	now := map[reportedCondition]bool{}
	for _, one := range patients {
		for _, c := range one.conditions {
			t := reportedCondition{one.id, c.name}
			now[t] = true
			if !p.reported[t] {
				p.Metrics.InstanceStatusUnhealthy.WithLabelValues(c.name).Inc()
			}
		}
	}
	p.reported = now
}

// answer does what the troubles call for.
func (p *Poller) handle(ctx context.Context, patients []*impairedInstance) error {
	errs := make([]error, len(patients))
	slots := make(chan struct{}, concurrency)
	var all sync.WaitGroup
	for n, one := range patients {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			for _, c := range one.conditions {
				err := p.Handle(ctx, eventbridge.Event{Kind: c.kind, InstanceIDs: []string{one.id}, Time: p.Clock.Now()})
				errs[n] = errors.Join(errs[n], err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
