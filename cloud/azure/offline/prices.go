package offline

import (
	_ "embed" // for the table
	"fmt"

	"github.com/karpenter-anew/karpenter/cloud/azure/price"
	"github.com/karpenter-anew/karpenter/cloud/pricetable"
)

// spotText is the lowest prices of spot virtual machines on a day. Real providers do not have it: they read current prices.
//
//go:generate go run -C ../../../tools/ec2catalog . -azure-spot ../../cloud/azure/offline/spot.txt
//go:embed spot.txt
var spotText string

// prices are those of a location.
type prices struct {
	// onDemand and spot have the prices of one capacity type each.
	onDemand, spot *price.List
	// date is the day of the prices, as year-month-day.
	date string
}

// pricesOf returns the prices of a location; false if it is not known.
func pricesOf(location string) (prices, bool, error) {
	table := price.TableFor(location)
	if table.Location != location {
		return prices{}, false, nil
	}
	spot, err := pricetable.Read(spotText, "locations", location, location)
	if err != nil {
		return prices{}, false, fmt.Errorf("reading the embedded table of spot prices: %w", err)
	}
	return prices{onDemand: price.New(table.Prices), spot: price.New(spot.Prices), date: table.Date}, true, nil
}
