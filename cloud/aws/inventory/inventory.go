// Package inventory holds the instance types of EC2, the zones that offer them, and their prices. It is refreshed
// periodically; a failed refresh changes nothing.
//
// Source: AWS provider specification, EC2 read calls; prices; pricing and instance type controllers.
package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/karpenter-anew/karpenter/cloud/aws/awsfield"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/aws/price"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

const (
	typesPage     = 100
	offeringsPage = 1000
	spotPage      = 2000
)

// EC2 are the calls that list instance types and spot prices.
type EC2 interface {
	DescribeInstanceTypes(context.Context, *ec2.DescribeInstanceTypesInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceTypesOutput, error)
	DescribeInstanceTypeOfferings(context.Context, *ec2.DescribeInstanceTypeOfferingsInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceTypeOfferingsOutput, error)
	DescribeSpotPriceHistory(context.Context, *ec2.DescribeSpotPriceHistoryInput, ...func(*ec2.Options)) (*ec2.DescribeSpotPriceHistoryOutput, error)
}

// Types are the instance types of a region. The value is shared and must not be changed.
type Types struct {
	// Descriptions are in order of name.
	Descriptions []instancetype.Description
	// Zones are all zones with instance types, sorted. The map has the zones of each type.
	Zones []string
	Sold  map[string][]string
}

// Inventory is the instance types that EC2 offers. Make one with New; it is safe for concurrent use. Readers do not wait for a refresh.
type Inventory struct {
	region string
	api    EC2
	list   PriceList
	prices *price.List
	table  price.Table

	mu       sync.RWMutex
	types    Types
	sequence uint64
}

// New returns an inventory without types, with the embedded prices. The price list is nil where it is not reachable.
func New(region string, api EC2, list PriceList) *Inventory {
	table := price.TableFor(region)
	out := &Inventory{region: region, api: api, list: list, prices: price.New(table.Prices)}
	table.Prices = nil // the book has them
	out.table = table
	return out
}

// Table says where the initial prices come from. It lists none.
func (i *Inventory) Table() price.Table { return i.table }

// Types are the types as of the last refresh, with a sequence number that changes with them.
func (i *Inventory) Types() (Types, uint64) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.types, i.sequence
}

// ReadPrices reads all prices, and logs which embedded prices are used until then. A periodic task retries: the first attempt may fail.
func (i *Inventory) ReadPrices(ctx context.Context, now time.Time) {
	log := observe.Log(ctx)
	log.InfoContext(ctx, "using embedded prices until the price list is read", awsfield.Region(i.table.Region), awsfield.PriceDate(i.table.Date),
		awsfield.Currency(i.table.Currency), awsfield.PricesEstimated(i.table.Estimated), awsfield.PriceSource(i.table.Source))
	for _, err := range []error{i.RefreshOnDemand(ctx), i.RefreshSpot(ctx, now)} {
		if err != nil {
			log.ErrorContext(ctx, "reading prices failed, retrying", logfield.Error(err))
		}
	}
}

// Prices are the prices as of the last refresh.
func (i *Inventory) Prices() *price.List { return i.prices }

// RefreshTypes reads types and zones from EC2. An empty response is treated as a failure.
func (i *Inventory) RefreshTypes(ctx context.Context) error {
	var fresh Types
	var err error
	if fresh.Descriptions, err = i.describe(ctx); err != nil {
		return err
	}
	if fresh.Sold, err = i.offerings(ctx); err != nil {
		return err
	}
	zones := map[string]bool{}
	for _, list := range fresh.Sold {
		for _, zone := range list {
			zones[zone] = true
		}
	}
	fresh.Zones = slices.Sorted(maps.Keys(zones))
	i.mu.Lock()
	defer i.mu.Unlock()
	if !reflect.DeepEqual(fresh, i.types) {
		logger := observe.Log(ctx)
		logger.DebugContext(ctx, "discovered instance types", awsfield.Count(len(fresh.Descriptions)))
		logger.DebugContext(ctx, "discovered offerings", awsfield.Count(len(fresh.Sold)), logfield.Zones(fresh.Zones))
		i.types = fresh
		i.sequence++
	}
	return nil
}

func (i *Inventory) describe(ctx context.Context) ([]instancetype.Description, error) {
	var out []instancetype.Description
	pages := ec2.NewDescribeInstanceTypesPaginator(i.api, &ec2.DescribeInstanceTypesInput{
		MaxResults: aws.Int32(typesPage),
		Filters: []ec2types.Filter{
			{Name: aws.String("supported-virtualization-type"), Values: []string{"hvm"}},
			{Name: aws.String("processor-info.supported-architecture"), Values: []string{"x86_64", "arm64"}},
		},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing instance types: %w", err)
		}
		for n := range page.InstanceTypes {
			out = append(out, descriptionOf(&page.InstanceTypes[n]))
		}
	}
	if len(out) == 0 {
		return nil, errors.New("no instance types found")
	}
	slices.SortFunc(out, func(a, b instancetype.Description) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func (i *Inventory) offerings(ctx context.Context) (map[string][]string, error) {
	out := map[string][]string{}
	pages := ec2.NewDescribeInstanceTypeOfferingsPaginator(i.api, &ec2.DescribeInstanceTypeOfferingsInput{
		LocationType: ec2types.LocationTypeAvailabilityZone, MaxResults: aws.Int32(offeringsPage),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing the zones of instance types: %w", err)
		}
		for _, o := range page.InstanceTypeOfferings {
			name := string(o.InstanceType)
			out[name] = append(out[name], aws.ToString(o.Location))
		}
	}
	if len(out) == 0 {
		return nil, errors.New("no instance types offerings found")
	}
	for _, zones := range out {
		slices.Sort(zones)
	}
	return out, nil
}
