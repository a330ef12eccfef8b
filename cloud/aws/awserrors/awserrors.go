// Package awserrors classifies the errors of AWS.
//
// Source: AWS provider specification, error classification.
package awserrors

import (
	"errors"
	"slices"
	"strings"
)

// Coded is an error of AWS with a code, as the SDK has them.
type Coded interface {
	error
	ErrorCode() string
	ErrorMessage() string
}

// The codes that are handled one by one.
const (
	codeSpotRole        = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
	codeReservationFull = "ReservationCapacityExceeded"
	codeSubnetFull      = "InsufficientFreeAddressesInSubnet"
	codeTemplateMissing = "InvalidLaunchTemplateName.NotFoundException"
	codeUnauthorized    = "UnauthorizedOperation"
	codeThrottled       = "RequestLimitExceeded"
	codeDryRun          = "DryRunOperation"
	codeExists          = "EntityAlreadyExists"
	codeBadParameter    = "InvalidParameterValue"
	codeBadUserData     = "InvalidUserData.Malformed"
)

// Code is the code of an error; empty if it has none.
func Code(err error) string {
	var coded Coded
	if errors.As(err, &coded) {
		return coded.ErrorCode()
	}
	return ""
}

// message is the message of an error with a code.
func message(err error) string {
	var coded Coded
	if errors.As(err, &coded) {
		return coded.ErrorMessage()
	}
	return ""
}

// IsNotFound reports whether the requested resource does not exist.
func IsNotFound(err error) bool {
	return slices.Contains([]string{
		"InvalidCapacityReservationId.NotFound", "InvalidInstanceID.NotFound", codeTemplateMissing, "InvalidLaunchTemplateId.NotFound",
		"QueueDoesNotExist", "NoSuchEntity", "ParameterNotFound",
	}, Code(err))
}

// IsAlreadyExists reports whether what was to be made is there already.
func IsAlreadyExists(err error) bool { return Code(err) == codeExists }

// IsLaunchTemplateMissing reports whether a launch named a template that does not exist.
func IsLaunchTemplateMissing(err error) bool { return Code(err) == codeTemplateMissing }

// IsUnauthorized reports whether the call is not allowed.
func IsUnauthorized(err error) bool { return Code(err) == codeUnauthorized }

// IsThrottled reports whether there were too many calls.
func IsThrottled(err error) bool { return Code(err) == codeThrottled }

// IsDryRunSuccess reports whether a call would have succeeded, had it not been a dry run.
func IsDryRunSuccess(err error) bool { return Code(err) == codeDryRun }

// IsInstanceProfileMissing reports whether a launch named an instance profile that does not exist.
func IsInstanceProfileMissing(err error) bool {
	return Code(err) == codeBadParameter && strings.Contains(message(err), "Invalid IAM Instance Profile name")
}

// IsUserDataTooLarge reports whether the user data is larger than EC2 takes.
func IsUserDataTooLarge(err error) bool {
	return Code(err) == codeBadUserData && strings.Contains(message(err), "User data is limited to")
}

// FleetError is one of the errors in the response of CreateFleet.
type FleetError struct{ Code, Message string }

// Unfulfillable reports whether there was no capacity for the request; other requests may succeed.
func (f FleetError) Unfulfillable() bool {
	return slices.Contains([]string{
		"InsufficientInstanceCapacity", "MaxSpotInstanceCountExceeded", "VcpuLimitExceeded", "UnfulfillableCapacity", "Unsupported",
		codeSubnetFull, "MaxFleetCountExceeded", codeReservationFull, "SpotMaxPriceTooLow", "InvalidCapacityReservationState.Unavailable",
	}, f.Code)
}

// ReservationFull reports whether the reservation has no free capacity.
func (f FleetError) ReservationFull() bool { return f.Code == codeReservationFull }

// SpotRoleMissing reports whether spot cannot be used because its service-linked role may not be created.
func (f FleetError) SpotRoleMissing() bool { return f.Code == codeSpotRole }

// SubnetFull reports whether the subnet has no free address.
func (f FleetError) SubnetFull() bool { return f.Code == codeSubnetFull }

// SpreadGroupFull reports whether a spread placement group takes no more instances in the zone.
func (f FleetError) SpreadGroupFull() bool {
	return strings.Contains(f.Message, "limit of instances in this spread placement group")
}

// NoCapacity reports whether a launch failed only for lack of capacity. It is false without errors.
func NoCapacity(all []FleetError) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(f FleetError) bool { return !f.Unfulfillable() && !f.SpotRoleMissing() })
}
