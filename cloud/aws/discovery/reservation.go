package discovery

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awserrors"
	"github.com/karpenter-anew/karpenter/cloud/aws/awsfield"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

const (
	reservationPage = 1000
	// expiringFor is how long before its end a capacity block takes no more instances.
	expiringFor = 40 * time.Minute
)

// CapacityReservations are the reservations that the class selects and that have not ended, by id.
func (f *Finder) CapacityReservations(ctx context.Context, class *awsv1.EC2NodeClass) ([]awsv1.CapacityReservation, error) {
	now := f.Clock.Now()
	found := map[string]awsv1.CapacityReservation{}
	for _, query := range reservationQueries(class.Spec.CapacityReservationSelectorTerms) {
		answer, err := f.reservations.GetOrLoad(ctx, query.key, func(ctx context.Context) ([]ec2types.CapacityReservation, error) {
			return f.listReservations(ctx, query.input)
		})
		if err != nil {
			return nil, err
		}
		for i := range answer {
			if end := answer[i].EndDate; end != nil && !end.After(now) {
				continue
			}
			r, err := reservationOf(&answer[i], now)
			if err != nil {
				observe.Log(ctx).ErrorContext(ctx, "a capacity reservation is ignored", awsfield.CapacityReservationID(aws.ToString(answer[i].CapacityReservationId)), logfield.Error(err))
				continue
			}
			found[r.ID] = r
		}
	}
	var out []awsv1.CapacityReservation
	for _, r := range found {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b awsv1.CapacityReservation) int { return cmp.Compare(a.ID, b.ID) })
	ids := make([]string, len(out))
	for i := range out {
		ids[i] = out[i].ID
	}
	if len(class.Spec.CapacityReservationSelectorTerms) > 0 {
		f.discovered(ctx, "capacity reservations", class.Name, ids)
	}
	return out, nil
}

// reservationQuery is one call, and its cache key.
type reservationQuery struct {
	key   string
	input *ec2.DescribeCapacityReservationsInput
}

// reservationQueries are the questions that terms mean: one for each id, one for all other conditions of a term together.
func reservationQueries(terms []awsv1.CapacityReservationSelectorTerm) []reservationQuery {
	var out []reservationQuery
	for _, term := range terms {
		if term.ID != "" {
			// With ids EC2 takes no size of pages.
			out = append(out, reservationQuery{term.ID, &ec2.DescribeCapacityReservationsInput{
				CapacityReservationIds: []string{term.ID}, Filters: []ec2types.Filter{filter("state", "active")},
			}})
		}
		if len(term.Tags) == 0 && term.InstanceMatchCriteria == "" {
			continue
		}
		filters := append([]ec2types.Filter{filter("state", "active")}, tagFilters(term.Tags)...)
		if term.OwnerID != "" {
			filters = append(filters, filter("owner-id", term.OwnerID))
		}
		if term.InstanceMatchCriteria != "" {
			filters = append(filters, filter("instance-match-criteria", term.InstanceMatchCriteria))
		}
		out = append(out, reservationQuery{fmt.Sprintf("%q %q %q", term.Tags, term.OwnerID, term.InstanceMatchCriteria), &ec2.DescribeCapacityReservationsInput{
			Filters: filters, MaxResults: aws.Int32(reservationPage),
		}})
	}
	return out
}

// listReservations runs a query. An ID that does not exist selects nothing.
func (f *Finder) listReservations(ctx context.Context, in *ec2.DescribeCapacityReservationsInput) ([]ec2types.CapacityReservation, error) {
	var out []ec2types.CapacityReservation
	pages := ec2.NewDescribeCapacityReservationsPaginator(f.EC2, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if awserrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("listing capacity reservations: %w", err)
		}
		out = append(out, page.CapacityReservations...)
	}
	now := f.Clock.Now()
	for _, r := range out {
		f.Reservations.Observed(aws.ToString(r.CapacityReservationId), int(aws.ToInt32(r.AvailableInstanceCount)), now)
	}
	return out, nil
}

// reservationOf is a reservation as it stands in the status of a class.
func reservationOf(r *ec2types.CapacityReservation, now time.Time) (awsv1.CapacityReservation, error) {
	out := awsv1.CapacityReservation{
		ID: aws.ToString(r.CapacityReservationId), AvailabilityZone: aws.ToString(r.AvailabilityZone), InstanceType: aws.ToString(r.InstanceType),
		OwnerID: aws.ToString(r.OwnerId), InstanceMatchCriteria: string(r.InstanceMatchCriteria), Interruptible: aws.ToBool(r.Interruptible),
		ReservationType: awsv1.CapacityReservationType(r.ReservationType), State: awsv1.CapacityReservationStateActive,
	}
	if r.EndDate != nil {
		out.EndTime = &metav1.Time{Time: *r.EndDate}
	}
	if out.ReservationType == "" {
		out.ReservationType = awsv1.CapacityReservationTypeDefault
	}
	switch {
	case out.ReservationType != awsv1.CapacityReservationTypeDefault && out.ReservationType != awsv1.CapacityReservationTypeCapacityBlock:
		return out, fmt.Errorf("capacity reservation %q has the unknown type %q", out.ID, out.ReservationType)
	case out.InstanceMatchCriteria != "open" && out.InstanceMatchCriteria != "targeted":
		return out, fmt.Errorf("capacity reservation %q has the unknown match criteria %q", out.ID, out.InstanceMatchCriteria)
	}
	if out.ReservationType == awsv1.CapacityReservationTypeCapacityBlock && out.EndTime != nil && !now.Before(out.EndTime.Add(-expiringFor)) {
		out.State = awsv1.CapacityReservationStateExpiring
	}
	return out, nil
}
