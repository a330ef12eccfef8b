package nodeclass

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/cloud/azure/discovery"
	"github.com/karpenter-anew/karpenter/cloud/azure/image"
)

// images adopts newer images in a maintenance window, and at once where a class has none yet or the version of Kubernetes has changed.
func (c *Controller) images(ctx context.Context, class *v1beta1.AKSNodeClass, set condition.Set) (time.Duration, error) {
	found, err := c.Images.Of(ctx, class)
	switch {
	case errors.Is(err, discovery.ErrSharedRequired):
		class.Status.Images = nil
		set.False(v1beta1.ConditionTypeImagesReady, v1beta1.ReasonSIGRequiredForFIPS, err.Error())
		return 0, nil
	case apiVersionRefused(err):
		set.False(v1beta1.ConditionTypeImagesReady, v1beta1.ReasonAPIVersionRefused,
			"Azure does not serve the version of the API that lists images: set AKS_MACHINES_API_VERSION to one that it serves: "+err.Error())
		return imagesAgain, nil
	case err != nil:
		return 0, err
	case len(found) == 0:
		class.Status.Images = nil
		set.False(v1beta1.ConditionTypeImagesReady, v1beta1.ReasonImagesNotFound, fmt.Sprintf("AKS publishes no image of family %s for this spec in the location: choose another spec.imageFamily or spec.fipsMode", class.ImageFamily()))
		return imagesAgain, nil
	}
	if isTrue(set, v1beta1.ConditionTypeImagesReady) {
		open, err := c.inMaintenance(ctx)
		if err != nil {
			return 0, err
		}
		if !open {
			found = image.KeepVersions(class.Status.Images, found)
		}
	}
	class.Status.Images = found
	set.True(v1beta1.ConditionTypeImagesReady)
	return imagesAgain, nil
}

// apiVersionRefused reports whether Azure does not know the version of the API of a request. Preview versions end some time after the next one.
func apiVersionRefused(err error) bool {
	var response *azcore.ResponseError
	return errors.As(err, &response) && (response.ErrorCode == "NoRegisteredProviderFound" || response.ErrorCode == "InvalidApiVersionParameter")
}

// The ConfigMap in which AKS says when nodes may get newer images, and its keys.
const (
	maintenanceName  = "upcoming-maintenance-window"
	maintenanceStart = "aksManagedNodeOSUpgradeSchedule-start"
	maintenanceEnd   = "aksManagedNodeOSUpgradeSchedule-end"
)

// inMaintenance reports whether nodes may get newer images now. They may at any time if AKS names no window.
func (c *Controller) inMaintenance(ctx context.Context) (bool, error) {
	if c.Namespace == "" {
		return true, nil
	}
	window := &corev1.ConfigMap{}
	err := c.Reader.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: maintenanceName}, window)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the maintenance window: %w", err)
	}
	from, to := window.Data[maintenanceStart], window.Data[maintenanceEnd]
	switch {
	case from == "" && to == "":
		return true, nil
	case from == "":
		return false, fmt.Errorf("configmap %s/%s: %s is missing", c.Namespace, maintenanceName, maintenanceStart)
	case to == "":
		return false, fmt.Errorf("configmap %s/%s: %s is missing", c.Namespace, maintenanceName, maintenanceEnd)
	}
	start, err := time.Parse(time.RFC3339, from)
	if err != nil {
		return false, fmt.Errorf("configmap %s/%s: parsing %s: %w", c.Namespace, maintenanceName, maintenanceStart, err)
	}
	end, err := time.Parse(time.RFC3339, to)
	if err != nil {
		return false, fmt.Errorf("configmap %s/%s: parsing %s: %w", c.Namespace, maintenanceName, maintenanceEnd, err)
	}
	now := c.Clock.Now()
	return start.Before(now) && now.Before(end), nil
}
