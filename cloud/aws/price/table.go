package price

import (
	_ "embed" // for the table
	"fmt"
	"strings"

	"github.com/karpenter-anew/karpenter/cloud/pricetable"
)

// tableText is what on-demand instances cost on a day: the header says which, and where that is from.
//
//go:generate go run -C ../../../tools/ec2catalog . -prices ../../cloud/aws/price/table.txt
//go:embed table.txt
var tableText string

const (
	// fallbackRegion is the region whose prices stand in where those of a region are not known.
	fallbackRegion = "us-east-1"
	// yuanPerDollar turns prices into those of China, of which the source of the table has none: a round number for a rough guess.
	// What matters is the order of types, and that no guess looks cheap beside a price that was heard.
	yuanPerDollar = 7
)

// Table are the on-demand prices that the program brings along for a region.
type Table struct {
	// Prices are those of an hour by type, in Currency.
	Prices   map[string]float64
	Currency string
	// Region is where these prices are asked for. It is another one than that of the instances, if their own prices are not known.
	Region string
	// Estimated says that the prices are no more than those of another region, turned into the currency.
	Estimated bool
	// Source is where the prices are from, and Date the day that they were taken, as year-month-day.
	Source, Date string
}

// Currency is what a region is paid in.
func Currency(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return "CNY"
	}
	return "USD"
}

// TableFor are the prices for a region; those of another one where its own are not known. It takes a few milliseconds: ask once.
func TableFor(region string) Table {
	table, err := parseTable(tableText, region)
	if err != nil {
		// The table is embedded, and a test parses it: only a broken build gets here.
		panic(fmt.Sprintf("reading the embedded table of prices: %v", err))
	}
	return table
}

// parseTable reads the table for a region.
func parseTable(text, region string) (Table, error) {
	read, err := pricetable.Read(text, "regions", region, fallbackRegion)
	if err != nil {
		return Table{}, err
	}
	out := Table{Prices: read.Prices, Currency: Currency(region), Region: read.Place, Source: read.Source, Date: read.Date}
	if out.Currency != Currency(out.Region) {
		out.Estimated = true
		for name := range out.Prices {
			out.Prices[name] *= yuanPerDollar
		}
	}
	return out, nil
}
