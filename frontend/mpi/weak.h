/*
 * The MPI functions that the interposer calls for its own needs, as weak references: it is preloaded into launchers and
 * shells, too, where there is no MPI, and with LD_BIND_NOW the loader looks for all functions at once and ends a
 * process in which a strong one is missing. A name that is left out here shows in the test preload.no_mpi.bind_now.
 */
#ifndef PW_FRONTEND_MPI_WEAK_H
#define PW_FRONTEND_MPI_WEAK_H

#include <mpi.h>

#pragma weak PMPI_Allgather
#pragma weak PMPI_Allreduce
#pragma weak PMPI_Barrier
#pragma weak PMPI_Bcast
#pragma weak PMPI_Cart_create
#pragma weak PMPI_Cart_shift
#pragma weak PMPI_Cartdim_get
#pragma weak PMPI_Comm_call_errhandler
#pragma weak PMPI_Comm_create_group
#pragma weak PMPI_Comm_create_keyval
#pragma weak PMPI_Comm_delete_attr
#pragma weak PMPI_Comm_free
#pragma weak PMPI_Comm_free_keyval
#pragma weak PMPI_Comm_get_attr
#pragma weak PMPI_Comm_group
#pragma weak PMPI_Comm_rank
#pragma weak PMPI_Comm_remote_size
#pragma weak PMPI_Comm_set_attr
#pragma weak PMPI_Comm_set_errhandler
#pragma weak PMPI_Comm_size
#pragma weak PMPI_Comm_split
#pragma weak PMPI_Comm_test_inter
#pragma weak PMPI_Dist_graph_create_adjacent
#pragma weak PMPI_Dist_graph_neighbors
#pragma weak PMPI_Dist_graph_neighbors_count
#pragma weak PMPI_Error_class
#pragma weak PMPI_File_call_errhandler
#pragma weak PMPI_File_get_atomicity
#pragma weak PMPI_Finalized
#pragma weak PMPI_Get_count
#pragma weak PMPI_Get_library_version
#pragma weak PMPI_Get_version
#pragma weak PMPI_Graph_neighbors
#pragma weak PMPI_Graph_neighbors_count
#pragma weak PMPI_Group_difference
#pragma weak PMPI_Group_free
#pragma weak PMPI_Group_size
#pragma weak PMPI_Initialized
#pragma weak PMPI_Iprobe
#pragma weak PMPI_Pack
#pragma weak PMPI_Pcontrol
#pragma weak PMPI_Query_thread
#pragma weak PMPI_Probe
#pragma weak PMPI_Recv
#pragma weak PMPI_Request_free
#pragma weak PMPI_Request_get_status
#pragma weak PMPI_Send
#pragma weak PMPI_Sendrecv
#pragma weak PMPI_Start
#pragma weak PMPI_Status_set_elements_x
#pragma weak PMPI_Test
#pragma weak PMPI_Test_cancelled
#pragma weak PMPI_Topo_test
#pragma weak PMPI_Type_commit
#pragma weak PMPI_Type_contiguous
#pragma weak PMPI_Type_create_keyval
#pragma weak PMPI_Type_create_resized
#pragma weak PMPI_Type_delete_attr
#pragma weak PMPI_Type_f2c
#pragma weak PMPI_Type_free
#pragma weak PMPI_Type_free_keyval
#pragma weak PMPI_Type_get_attr
#pragma weak PMPI_Type_get_contents
#pragma weak PMPI_Type_get_envelope
#pragma weak PMPI_Type_get_extent
#pragma weak PMPI_Type_get_extent_x
#pragma weak PMPI_Type_get_name
#pragma weak PMPI_Type_get_true_extent
#pragma weak PMPI_Type_get_true_extent_x
#pragma weak PMPI_Type_set_attr
#pragma weak PMPI_Type_size
#pragma weak PMPI_Type_size_x
#pragma weak PMPI_Wait
#pragma weak PMPI_Win_call_errhandler
#pragma weak PMPI_Win_create_keyval
#pragma weak PMPI_Win_free_keyval
#pragma weak PMPI_Win_get_attr
#pragma weak PMPI_Win_set_attr
#pragma weak PMPI_Win_shared_query
#if MPI_VERSION >= 4
#pragma weak PMPI_Get_count_c
#pragma weak PMPI_Type_contiguous_c
#pragma weak PMPI_Type_get_contents_c
#pragma weak PMPI_Type_get_envelope_c
#endif

#endif
