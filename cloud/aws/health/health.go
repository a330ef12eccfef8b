// Package health polls EC2 for instances that fail status checks, or are about to be restarted or retired, and handles them like
// messages of the interruption queue. It needs no queue.
//
// Only impaired instances are listed, so that healthy ones cost nothing. An instance that fails a check is terminated forcefully, which is
// wrong if the check itself is at fault: when much of a zone is impaired, only a share of it is terminated at a time, and nothing in a zone
// with an active zonal shift.
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
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

const (
	// impairedThreshold is how long a check has to fail before the instance counts as impaired.
	impairedThreshold = 2 * time.Minute
	// unauthorizedBackoff is the pause after EC2 denied the call.
	unauthorizedBackoff = 10 * time.Minute
	// concurrency is how many instances are handled at the same time.
	concurrency = 10
	// page is how many instances a page holds.
	page = 1000
)

// EC2 reads the status of instances.
type EC2 interface {
	DescribeInstanceStatus(context.Context, *ec2.DescribeInstanceStatusInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceStatusOutput, error)
}

// Poller looks for impaired instances. It is used by one goroutine.
type Poller struct {
	EC2    EC2
	Client client.Client
	// Manages reports whether a NodeClaim is of this provider.
	Manages func(*v1.NodeClassReference) bool
	// Handle handles an event.
	Handle func(context.Context, eventbridge.Event) error
	// Shifted reports whether a zonal shift is active in the zone with an id; nil for never.
	Shifted func(zoneID string) bool
	Clock   clock.PassiveClock
	Metrics *telemetry.Metrics
	// DryRun only counts impaired instances.
	DryRun bool

	// reported are the conditions that the last poll found.
	reported map[reportedCondition]bool
	// unauthorizedUntil is the end of the pause after EC2 denied the call.
	unauthorizedUntil time.Time
}

// reportedCondition is an unhealthy condition of an instance that the metric has counted.
type reportedCondition struct{ instanceID, category string }

// impairedInstance is an instance with unhealthy conditions.
type impairedInstance struct {
	id    string
	claim *v1.NodeClaim
	// conditions are in the order in which they are handled: the worst first.
	conditions []unhealthyCondition
	// since is when the first of its checks failed; zero if none does.
	since time.Time
}

// unhealthyCondition is a kind of status check that fails, or an event that is scheduled.
type unhealthyCondition struct {
	name  string
	kind  eventbridge.Kind
	force bool
}

// The unhealthy conditions.
func instanceStatus() unhealthyCondition {
	return unhealthyCondition{"InstanceStatus", eventbridge.InstanceStatus, true}
}

func systemStatus() unhealthyCondition {
	return unhealthyCondition{"SystemStatus", eventbridge.SystemStatus, true}
}

func eventStatus() unhealthyCondition {
	return unhealthyCondition{"EventStatus", eventbridge.EventStatus, false}
}

// Poll reads the status of all instances once. When EC2 denies the call, it logs what is missing and backs off.
func (p *Poller) Poll(ctx context.Context) error {
	if p.Clock.Now().Before(p.unauthorizedUntil) {
		return nil
	}
	statuses, err := p.list(ctx)
	if awserrors.IsUnauthorized(err) {
		p.unauthorizedUntil = p.Clock.Now().Add(unauthorizedBackoff)
		observe.Log(ctx).ErrorContext(ctx, "instance status checks cannot be read: add ec2:DescribeInstanceStatus to the policy of the controller",
			logfield.Error(err), logfield.RetryIn(unauthorizedBackoff))
		return nil
	}
	if err != nil {
		return err
	}
	instances, err := p.impaired(ctx, statuses)
	if err != nil {
		return err
	}
	p.count(instances)
	if p.DryRun {
		return nil
	}
	if err := p.limitForced(ctx, instances); err != nil {
		return err
	}
	return p.handle(ctx, instances)
}

// list returns the status of impaired instances, each once.
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

// impaired returns the impaired instances that have a NodeClaim of this provider.
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

// conditionsOf returns the unhealthy conditions of an instance. The status of attached volumes does not count.
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

// failedSince returns when a check began to fail that fails for longer than the threshold; zero for none.
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

// isAhead reports whether an event is still to come. EC2 lists events that are over for a week.
func isAhead(e ec2types.InstanceStatusEvent) bool {
	text := aws.ToString(e.Description)
	return !strings.Contains(text, "[Completed]") && !strings.Contains(text, "[Canceled]")
}

// count counts conditions that the last poll did not find.
func (p *Poller) count(instances []*impairedInstance) {
	now := map[reportedCondition]bool{}
	for _, one := range instances {
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

// handle passes each unhealthy condition to the handler.
func (p *Poller) handle(ctx context.Context, instances []*impairedInstance) error {
	errs := make([]error, len(instances))
	slots := make(chan struct{}, concurrency)
	var all sync.WaitGroup
	for n, one := range instances {
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
