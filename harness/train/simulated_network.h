/* Following a recurrent network that is linear to any degree (Huang et al. 2023, appendix B.2 and
 * Figure 6). */
#ifndef LH_TRAIN_SIMULATED_NETWORK_H
#define LH_TRAIN_SIMULATED_NETWORK_H

#include "harness/train/task.h"

/* The class "simulated_network": vectors x_t in, y_t out. One long sequence is cut into segments,
 * the rows of every batch; all steps of a segment but the last are trained on, and the last is what
 * every split scores. The run's seed chooses the weights and the sequence. */
extern const lh_task_class lh_simulated_network_class;

#endif
