package nodeclass

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/cloud/azure/subnet"
)

// subnet checks that the subnet of a class exists, that it is in the network of the cluster, and that the last launch found free addresses in it.
func (c *Controller) subnet(ctx context.Context, class *v1beta1.AKSNodeClass, set condition.Set) (time.Duration, error) {
	own, err := subnet.Parse(c.Subnet)
	if err != nil {
		return 0, fmt.Errorf("parsing the subnet of the cluster: %w", err)
	}
	id := own
	if class.Spec.VNETSubnetID != nil && *class.Spec.VNETSubnetID != "" {
		if id, err = subnet.Parse(*class.Spec.VNETSubnetID); err != nil {
			set.False(v1beta1.ConditionTypeSubnetsReady, v1beta1.ReasonSubnetIDInvalid, err.Error())
			return 0, nil
		}
	}
	if problem := c.misplaced(id, own); problem != "" {
		set.False(v1beta1.ConditionTypeSubnetsReady, v1beta1.ReasonSubnetIDInvalid, problem)
		return 0, nil
	}
	free, err := c.Resources.Subnet(ctx, id)
	switch {
	case hasStatus(err, http.StatusNotFound):
		set.False(v1beta1.ConditionTypeSubnetsReady, v1beta1.ReasonSubnetNotFound, fmt.Sprintf("Subnet %s does not exist: create it, or set spec.vnetSubnetID to one that exists", id))
		return missingAgain, nil
	case err != nil:
		set.False(v1beta1.ConditionTypeSubnetsReady, v1beta1.ReasonSubnetUnknownError, fmt.Sprintf("Subnet %s cannot be read", id))
		return 0, fmt.Errorf("reading subnet %s: %w", id, err)
	}
	if addresses, until, full := c.FullSubnets.Check(class, free); full {
		set.False(v1beta1.ConditionTypeSubnetsReady, v1beta1.ReasonSubnetFull, fullMessage(id, addresses, until))
		return min(fullAgain, max(until.Sub(c.Clock.Now()), time.Second)), nil
	}
	set.True(v1beta1.ConditionTypeSubnetsReady)
	return subnetAgain, nil
}

// fullMessage says what to do about a subnet that is full. It stays the same until the next launch fails: it is written with each change.
func fullMessage(id subnet.ID, addresses int, until time.Time) string {
	needs, fewer := "which needs one", ""
	if addresses > 1 {
		needs, fewer = fmt.Sprintf("which needs %d with its pods", addresses), ", lower spec.maxPods"
	}
	return fmt.Sprintf("Subnet %s has too few free addresses for another node, %s: set spec.vnetSubnetID to a larger subnet%s, or free addresses. Nodes are launched again at %s, or within a minute after addresses are freed",
		id, needs, fewer, until.UTC().Format(time.RFC3339))
}

// misplaced is why nodes in a subnet could not join the cluster, which has another one; empty if they can.
func (c *Controller) misplaced(id, own subnet.ID) string {
	switch {
	case id.Equal(own):
		return ""
	case !id.SameNetwork(own):
		return fmt.Sprintf("Subnet %s is not in the virtual network of the cluster, %s", id, own.VirtualNetworkID())
	case own.InManagedNetwork(c.NodeResourceGroup):
		return fmt.Sprintf("Subnet %s is in a virtual network that AKS manages, in which nodes use subnet %s", id, own.Name)
	}
	return ""
}

// validate checks what the API server cannot: the sysctls that pods may set, and that the disk encryption set of disks can be read, which is a
// setting of the controller that all classes share.
func (c *Controller) validate(ctx context.Context, class *v1beta1.AKSNodeClass, set condition.Set) (time.Duration, error) {
	if invalid := class.InvalidSysctls(); len(invalid) > 0 {
		set.False(v1beta1.ConditionTypeValidationSucceeded, v1beta1.ReasonSysctlsInvalid, fmt.Sprintf(
			"The kubelet does not start with %s in spec.kubelet.allowedUnsafeSysctls: name each sysctl as a separate item, in lowercase letters and without blanks, such as net.core.somaxconn or net.*",
			quoted(invalid)))
		return 0, nil
	}
	if c.DiskEncryptionSet != "" {
		err := c.Resources.DiskEncryptionSet(ctx, c.DiskEncryptionSet)
		if hasStatus(err, http.StatusUnauthorized, http.StatusForbidden) {
			set.False(v1beta1.ConditionTypeValidationSucceeded, v1beta1.ReasonDiskEncryptionSetRBACMissing, fmt.Sprintf(
				"The controller may not read disk encryption set %s: assign its identity the role Reader there", c.DiskEncryptionSet))
			return missingAgain, nil
		}
		if err != nil {
			return 0, fmt.Errorf("reading disk encryption set %s: %w", c.DiskEncryptionSet, err)
		}
	}
	set.True(v1beta1.ConditionTypeValidationSucceeded)
	return encryptionAgain, nil
}

// maxQuoted is how many bytes of a text are quoted: a list of a class may have any size, a message of a condition may not.
const maxQuoted = 100

// quoted quotes the first text of a list, and says how many more there are.
func quoted(list []string) string {
	first := list[0]
	if len(first) > maxQuoted {
		first = strings.ToValidUTF8(first[:maxQuoted], "") + "…"
	}
	if len(list) == 1 {
		return strconv.Quote(first)
	}
	return fmt.Sprintf("%q and %d more", first, len(list)-1)
}

// hasStatus reports whether Azure answered with one of the HTTP status codes.
func hasStatus(err error, codes ...int) bool {
	var response *azcore.ResponseError
	return errors.As(err, &response) && slices.Contains(codes, response.StatusCode)
}
