// Package awsfield makes the fields of log lines that only AWS has, as package logfield does for all providers.
package awsfield

import (
	"log/slog"
	"time"

	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// EC2NodeClass names an EC2NodeClass.
func EC2NodeClass(name string) slog.Attr { return logfield.Object("EC2NodeClass", name) }

// RequestID is the ID of a request to AWS.
func RequestID(id string) slog.Attr { return slog.String("aws-request-id", id) }

// StatusCode is the HTTP status of a response of AWS.
func StatusCode(code int) slog.Attr { return slog.Int("aws-status-code", code) }

// ServiceName is the AWS service that was called.
func ServiceName(name string) slog.Attr { return slog.String("aws-service-name", name) }

// OperationName is the operation of AWS that was called.
func OperationName(name string) slog.Attr { return slog.String("aws-operation-name", name) }

// ErrorCode is the error code of AWS.
func ErrorCode(code string) slog.Attr { return slog.String("aws-error-code", code) }

// FleetID is the ID of an EC2 fleet.
func FleetID(id string) slog.Attr { return slog.String("fleet-id", id) }

// PlacementGroupID is the ID of a placement group.
func PlacementGroupID(id string) slog.Attr { return slog.String("placement-group-id", id) }

// PlacementGroupPartition is the partition in a placement group.
func PlacementGroupPartition(partition string) slog.Attr {
	return slog.String("placement-group-partition", partition)
}

// CapacityReservationID is the ID of a capacity reservation.
func CapacityReservationID(id string) slog.Attr { return slog.String("capacity-reservation-id", id) }

// LaunchTemplateName is the name of a launch template.
func LaunchTemplateName(name string) slog.Attr { return slog.String("launch-template-name", name) }

// LaunchTemplateID is the ID of a launch template.
func LaunchTemplateID(id string) slog.Attr { return slog.String("launch-template-id", id) }

// ID is the ID of an instance, or of a message of the interruption queue.
func ID(id string) slog.Attr { return slog.String("id", id) }

// Queue is the interruption queue.
func Queue(name string) slog.Attr { return slog.String("queue", name) }

// MessageKind is the kind of a message of the interruption queue.
func MessageKind(kind string) slog.Attr { return slog.String("messageKind", kind) }

// Account is the account that a message is about.
func Account(id string) slog.Attr { return slog.String("account", id) }

// Region is a region of AWS.
func Region(name string) slog.Attr { return slog.String("region", name) }

// ClusterEndpoint is the endpoint of the API server for nodes.
func ClusterEndpoint(url string) slog.Attr { return slog.String("cluster-endpoint", url) }

// ClusterCIDR is the range of Service addresses of the cluster.
func ClusterCIDR(cidr string) slog.Attr { return slog.String("cluster-cidr", cidr) }

// KubeDNSIP is the address of the cluster DNS.
func KubeDNSIP(ip string) slog.Attr { return slog.String("kube-dns-ip", ip) }

// Count is how many instance types or offerings were discovered.
func Count(n int) slog.Attr { return slog.Int("count", n) }

// Discovered is what was discovered.
func Discovered(text string) slog.Attr { return slog.String("found", text) }

// DiscoveredFor is the EC2NodeClass or the parameter that something was discovered for.
func DiscoveredFor(who string) slog.Attr { return slog.String("for", who) }

// TTL is how long an offering counts as unavailable.
func TTL(d time.Duration) slog.Attr { return slog.String("ttl", d.String()) }

// Filter is a filter of the instance types of a launch.
func Filter(name string) slog.Attr { return slog.String("filter", name) }

// InstanceProfile is the name of an instance profile.
func InstanceProfile(name string) slog.Attr { return slog.String("instance-profile", name) }

// Parameter is the path of an SSM parameter.
func Parameter(path string) slog.Attr { return slog.String("parameter", path) }

// Image is the ID of an image.
func Image(id string) slog.Attr { return slog.String("image", id) }

// Memory is the memory that nodes of an instance type have.
func Memory(quantity string) slog.Attr { return slog.String("memory", quantity) }

// EstimatedMemory is the memory that nodes of an instance type were expected to have.
func EstimatedMemory(quantity string) slog.Attr { return slog.String("estimated-memory", quantity) }

// Settings lists settings in user data.
func Settings(names []string) slog.Attr { return logfield.Texts("settings", names) }

// Size is the size of user data, in bytes.
func Size(n int) slog.Attr { return slog.Int("bytes", n) }

// Threshold is the size of user data from which a warning is logged, in bytes.
func Threshold(n int) slog.Attr { return slog.Int("threshold", n) }

// Failures is how often something failed.
func Failures(n int) slog.Attr { return slog.Int("failures", n) }

// PriceDate is the day of embedded prices, as year-month-day.
func PriceDate(date string) slog.Attr { return slog.String("date", date) }

// Currency is the currency of prices.
func Currency(name string) slog.Attr { return slog.String("currency", name) }

// PricesEstimated is true when prices are those of another region.
func PricesEstimated(yes bool) slog.Attr { return slog.Bool("estimated", yes) }

// PriceSource is where embedded prices are from.
func PriceSource(text string) slog.Attr { return slog.String("price-source", text) }
