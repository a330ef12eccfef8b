package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	pricingtypes "github.com/aws/aws-sdk-go-v2/service/pricing/types"

	"github.com/karpenter-anew/karpenter/cloud/aws/price"
	"github.com/karpenter-anew/karpenter/cloud/pricetable"
)

const (
	serviceCode = "AmazonEC2"
	pricePage   = 100
)

// PriceList is the call that lists on-demand prices.
type PriceList interface {
	GetProducts(context.Context, *pricing.GetProductsInput, ...func(*pricing.Options)) (*pricing.GetProductsOutput, error)
}

// RefreshSpot reads the current spot prices from EC2.
func (i *Inventory) RefreshSpot(ctx context.Context, now time.Time) error {
	var records []price.SpotRecord
	pages := ec2.NewDescribeSpotPriceHistoryPaginator(i.api, &ec2.DescribeSpotPriceHistoryInput{
		ProductDescriptions: []string{"Linux/UNIX", "Linux/UNIX (Amazon VPC)"}, StartTime: &now, MaxResults: aws.Int32(spotPage),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("listing spot prices: %w", err)
		}
		for _, r := range page.SpotPriceHistory {
			records = append(records, price.SpotRecord{
				Pool: price.Pool{InstanceType: string(r.InstanceType), Zone: aws.ToString(r.AvailabilityZone)},
				Time: aws.ToTime(r.Timestamp), Price: aws.ToString(r.SpotPrice),
			})
		}
	}
	if err := i.prices.RefreshSpot(records); err != nil {
		return fmt.Errorf("taking over spot prices: %w", err)
	}
	return nil
}

// RefreshOnDemand reads the prices of virtual and bare metal types from the price list. GovCloud regions have no price list,
// and isolated networks cannot reach it.
func (i *Inventory) RefreshOnDemand(ctx context.Context) error {
	if i.list == nil || strings.HasPrefix(i.region, "us-gov") {
		return nil
	}
	var ordinary, metal map[string]float64
	var first, second error
	var both sync.WaitGroup
	both.Go(func() { ordinary, first = i.products(ctx, "Shared", "Compute Instance") })
	both.Go(func() { metal, second = i.products(ctx, "Dedicated", "Compute Instance (bare metal)") })
	both.Wait()
	if err := errors.Join(first, second); err != nil {
		return fmt.Errorf("listing on-demand prices: %w", err)
	}
	if err := i.prices.RefreshOnDemand(ordinary, metal); err != nil {
		return fmt.Errorf("taking over on-demand prices: %w", err)
	}
	return nil
}

// products are the on-demand prices of a family of products.
func (i *Inventory) products(ctx context.Context, tenancy, family string) (map[string]float64, error) {
	is := func(field, value string) pricingtypes.Filter {
		return pricingtypes.Filter{Type: pricingtypes.FilterTypeTermMatch, Field: &field, Value: &value}
	}
	out := map[string]float64{}
	pages := pricing.NewGetProductsPaginator(i.list, &pricing.GetProductsInput{
		ServiceCode: aws.String(serviceCode), MaxResults: aws.Int32(pricePage),
		Filters: []pricingtypes.Filter{
			is("regionCode", i.region), is("serviceCode", serviceCode), is("preInstalledSw", "NA"), is("operatingSystem", "Linux"),
			is("capacitystatus", "Used"), is("marketoption", "OnDemand"), is("tenancy", tenancy), is("productFamily", family),
		},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, text := range page.PriceList {
			name, amount, err := productPrice(text, price.Currency(i.region))
			if err != nil {
				return nil, err
			}
			if amount > 0 {
				out[name] = amount
			}
		}
	}
	return out, nil
}

// productPrice reads an entry of the price list; the price is 0 if the entry has none.
func productPrice(text, currency string) (instanceType string, amount float64, err error) {
	var entry struct {
		Product struct {
			Attributes struct {
				InstanceType string `json:"instanceType"`
			} `json:"attributes"`
		} `json:"product"`
		Terms struct {
			OnDemand map[string]struct {
				PriceDimensions map[string]struct {
					PricePerUnit map[string]string `json:"pricePerUnit"`
				} `json:"priceDimensions"`
			} `json:"OnDemand"`
		} `json:"terms"`
	}
	if err := json.Unmarshal([]byte(text), &entry); err != nil {
		return "", 0, fmt.Errorf("reading the price list: %w", err)
	}
	for _, term := range entry.Terms.OnDemand {
		for _, dimension := range term.PriceDimensions {
			if parsed, err := strconv.ParseFloat(dimension.PricePerUnit[currency], 64); err == nil && pricetable.Valid(parsed) {
				amount = max(amount, parsed)
			}
		}
	}
	return entry.Product.Attributes.InstanceType, amount, nil
}
