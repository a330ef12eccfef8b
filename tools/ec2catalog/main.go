// Command ec2catalog writes the instance catalogues of real EC2 regions and Azure locations that the kwok cloud embeds, and the tables of
// network limits, of prices and of hardware that the providers embed.
//
// The source is a public data set that is published as a Go module and carries prices, spot prices, zones and network
// limits of every type in every region, about 130 MB in all. This command condenses it to one small file a region, one
// line a type, sorted by name: the same source gives the same bytes.
//
//	go run . -out ../../cloud/kwok/catalogs us-east-1 us-west-2
//	go run . -azure -out ../../cloud/kwok/catalogs eastus westeurope
//	go run . -limits ../../cloud/aws/instancetype/limits.txt
//	go run . -prices ../../cloud/aws/price/table.txt
//	go run . -hardware ../../cloud/aws/offline/hardware.txt
//	go run . -azure-prices ../../cloud/azure/price/table.txt
//	go run . -azure-spot ../../cloud/azure/offline/spot.txt
//	go run . -azure-hardware ../../cloud/azure/offline/hardware.txt
//
// The prices are those of the day the data set was taken. Use the catalogues to simulate, not to budget.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	out := flag.String("out", ".", "folder to write aws-<region>.json files to")
	azure := flag.Bool("azure", false, "write catalogues of locations of Azure, azure-<location>.json files")
	limits := flag.String("limits", "", "file to write the network limits of all types to, instead of catalogues")
	prices := flag.String("prices", "", "file to write the prices of all types in all regions to, instead of catalogues")
	hardware := flag.String("hardware", "", "file to write the hardware of all types to, instead of catalogues")
	azurePrices := flag.String("azure-prices", "", "file to write the prices of all sizes of Azure in all locations to, instead of catalogues")
	azureSpot := flag.String("azure-spot", "", "file to write the spot prices of all sizes of Azure in all locations to, instead of catalogues")
	azureHardware := flag.String("azure-hardware", "", "file to write the hardware of all sizes of Azure to, instead of catalogues")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: ec2catalog [-azure] [-out folder] region... | -limits file | -prices file | -hardware file | -azure-prices file | "+
			"-azure-spot file | -azure-hardware file")
		flag.PrintDefaults()
	}
	flag.Parse()
	var jobs []func() error
	if flag.NArg() > 0 {
		write := run
		if *azure {
			write = runAzure
		}
		jobs = append(jobs, func() error { return write(*out, flag.Args()) })
	}
	for _, table := range []struct {
		path  string
		write func(path string) error
	}{
		{*limits, writeLimits},
		{*prices, writePrices},
		{*hardware, writeHardware},
		{*azurePrices, writeAzurePrices},
		{*azureSpot, writeAzureSpotPrices},
		{*azureHardware, writeAzureHardware},
	} {
		if table.path != "" {
			jobs = append(jobs, func() error { return table.write(table.path) })
		}
	}
	if len(jobs) != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := jobs[0](); err != nil {
		fmt.Fprintln(os.Stderr, "ec2catalog:", err)
		os.Exit(1)
	}
}

// run writes one file a region.
func run(folder string, regions []string) error {
	src, err := openSource()
	if err != nil {
		return err
	}
	instances, err := src.read()
	if err != nil {
		return err
	}
	for _, region := range regions {
		types, err := condense(instances, region)
		if err != nil {
			return fmt.Errorf("condensing region %q: %w", region, err)
		}
		data, err := encode(src, region, types)
		if err != nil {
			return fmt.Errorf("encoding region %q: %w", region, err)
		}
		path := filepath.Join(folder, fileName(region))
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
		fmt.Printf("%s: %d types, %d bytes\n", path, len(types), len(data))
	}
	return nil
}

// writeLimits writes the network limits of all types.
func writeLimits(path string) error {
	src, err := openSource()
	if err != nil {
		return err
	}
	instances, err := src.read()
	if err != nil {
		return err
	}
	table, err := readLimits()
	if err != nil {
		return err
	}
	return os.WriteFile(path, encodeLimits(src, instances, table), 0o644)
}

// fileName is the name of a region's file.
func fileName(region string) string { return "aws-" + region + ".json" }
