! One program, compiled for each of Fortran's three bindings (BINDING 1: mpif.h, 2: use mpi, 3: use mpi_f08), for two ranks:
! types are committed, packed and sent in every way that has something of its own in Fortran - sentinels, LOGICALs,
! indices from 1, statuses, handles that completion resets - and the data is looked at. What Packwright says at the end
! tells the test whether it carried them.
#if BINDING == 3
#define DATATYPE type(MPI_Datatype)
#define REQUEST type(MPI_Request)
#define STATUS(name) type(MPI_Status) :: name
#define STATUSES(name, n) type(MPI_Status) :: name(n)
#define SOURCE_OF(s) s%MPI_SOURCE
#define TAG_OF(s) s%MPI_TAG
#define SOURCE_OF_NTH(s, n) s(n)%MPI_SOURCE
#define TAG_OF_NTH(s, n) s(n)%MPI_TAG
#define NTH(s, n) s(n)
#else
#define DATATYPE integer
#define REQUEST integer
#define STATUS(name) integer :: name(MPI_STATUS_SIZE)
#define STATUSES(name, n) integer :: name(MPI_STATUS_SIZE, n)
#define SOURCE_OF(s) s(MPI_SOURCE)
#define TAG_OF(s) s(MPI_TAG)
#define SOURCE_OF_NTH(s, n) s(MPI_SOURCE, n)
#define TAG_OF_NTH(s, n) s(MPI_TAG, n)
#define NTH(s, n) s(:, n)
#endif

module checks
  use iso_c_binding, only: c_int
#if BINDING == 2
  use mpi
#elif BINDING == 3
  use mpi_f08
#endif
  implicit none
#if BINDING == 1
  include 'mpif.h'
#endif
  ! The type of all messages: N doubles, GAP apart, from the first of an array.
  integer, parameter :: N = 400, GAP = 5, ROOM = N * GAP
  integer :: failures = 0, rank, peer, ierr
  DATATYPE :: column

contains

  subroutine expect(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (good) return
    failures = failures + 1
    print '(a,i0,2a)', 'rank ', rank, ': FAILED: ', what
  end subroutine expect

  ! What rank r sends in the k-th message.
  subroutine fill(a, r, k)
    double precision, intent(out) :: a(ROOM)
    integer, intent(in) :: r, k
    integer :: i
    a = [(r * 1.0d6 + k * 1.0d4 + i, i = 1, ROOM)]
  end subroutine fill

  ! Received from rank r as its k-th message, with nothing written between the elements.
  logical function arrived(a, r, k)
    double precision, intent(in) :: a(ROOM)
    integer, intent(in) :: r, k
    integer :: i
    arrived = .true.
    do i = 1, ROOM
      if (mod(i - 1, GAP) == 0) then
        arrived = arrived .and. a(i) == r * 1.0d6 + k * 1.0d4 + i
      else
        arrived = arrived .and. a(i) == -1
      end if
    end do
  end function arrived

  subroutine pack_and_unpack
    DATATYPE :: t
    double precision :: a(63), b(63), packed(9)
    integer :: i, position
    call MPI_Type_vector(9, 1, 7, MPI_DOUBLE_PRECISION, t, ierr)
    call MPI_Type_commit(t, ierr)
    a = [(i, i = 1, 63)]
    do i = 1, 50
      position = 0
      call MPI_Pack(a, 1, t, packed, 72, position, MPI_COMM_WORLD, ierr)
      b = 0
      call expect(position == 72 .and. all(packed == a(1:63:7)), 'pack')
      position = 0
      call MPI_Unpack(packed, 72, position, b, 1, t, MPI_COMM_SELF, ierr)
      call expect(position == 72 .and. all(b(1:63:7) == packed) .and. count(b /= 0) == 9, 'unpack')
    end do
    call MPI_Type_free(t, ierr)
    call expect(t == MPI_DATATYPE_NULL, 'a freed handle')
  end subroutine pack_and_unpack

  subroutine blocking
    double precision :: a(ROOM), b(ROOM)
    integer :: elements
    STATUS(s)
    call fill(a, rank, 1)
    b = -1
    if (rank == 0) then
      call MPI_Send(a, 1, column, peer, 1, MPI_COMM_WORLD, ierr)
      call MPI_Recv(b, 1, column, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, s, ierr)
    else
      call MPI_Recv(b, 1, column, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, s, ierr)
      call MPI_Ssend(a, 1, column, peer, 1, MPI_COMM_WORLD, ierr)
    end if
    call expect(arrived(b, peer, 1), 'send and receive')
    call MPI_Get_count(s, column, elements, ierr)
    call expect(SOURCE_OF(s) == peer .and. TAG_OF(s) == 1 .and. elements == 1, 'the status of a receive')
    b = -1
    call fill(a, rank, 2)
    call MPI_Sendrecv(a, 1, column, peer, 2, b, 1, column, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call expect(arrived(b, peer, 2), 'sendrecv')
    call MPI_Sendrecv_replace(a, 1, column, peer, 3, peer, 3, MPI_COMM_WORLD, s, ierr)
    call expect(all(a(1:ROOM:GAP) == b(1:ROOM:GAP)), 'sendrecv_replace')
  end subroutine blocking

  ! An absolute address, for MPI_BOTTOM.
  subroutine bottom
    double precision, asynchronous :: a(ROOM), b(ROOM)
    integer(kind=MPI_ADDRESS_KIND) :: place(1)
    integer :: one(1) = [1]
    DATATYPE :: from, into, old(1)
    call fill(a, rank, 4)
    b = -1
    old(1) = column
    call MPI_Get_address(a, place(1), ierr)
    call MPI_Type_create_struct(1, one, place, old, from, ierr)
    call MPI_Get_address(b, place(1), ierr)
    call MPI_Type_create_struct(1, one, place, old, into, ierr)
    call MPI_Type_commit(from, ierr)
    call MPI_Type_commit(into, ierr)
    call MPI_Sendrecv(MPI_BOTTOM, 1, from, peer, 4, MPI_BOTTOM, 1, into, peer, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE, &
                      ierr)
#if BINDING == 3
    if (.not. MPI_ASYNC_PROTECTS_NONBLOCKING) call MPI_F_sync_reg(b)
#else
    call MPI_Get_address(b, place(1), ierr)
#endif
    call expect(arrived(b, peer, 4), 'MPI_BOTTOM')
    call MPI_Type_free(from, ierr)
    call MPI_Type_free(into, ierr)
  end subroutine bottom

  subroutine start(a, b, r, k)
    double precision, asynchronous, intent(inout) :: a(ROOM, 4), b(ROOM, 4)
    REQUEST, intent(out) :: r(8)
    integer, intent(in) :: k
    integer :: i
    b = -1
    do i = 1, 4
      call fill(a(:, i), rank, k + i)
      call MPI_Irecv(b(1, i), 1, column, peer, k + i, MPI_COMM_WORLD, r(i), ierr)
    end do
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    do i = 1, 4
      call MPI_Isend(a(1, i), 1, column, peer, k + i, MPI_COMM_WORLD, r(4 + i), ierr)
    end do
  end subroutine start

  subroutine look(b, r, k, what)
    double precision, asynchronous, intent(in) :: b(ROOM, 4)
    REQUEST, intent(in) :: r(8)
    integer, intent(in) :: k
    character(len=*), intent(in) :: what
    integer :: i
    do i = 1, 4
      call expect(arrived(b(:, i), peer, k + i), what)
    end do
    do i = 1, 8
      call expect(r(i) == MPI_REQUEST_NULL, what // ': a completed request')
    end do
  end subroutine look

  ! The least index that this MPI gives: 1, but 0 with MPICH 4.0's mpi_f08.
  subroutine find_first_index(any, some)
    integer, intent(out) :: any, some
    REQUEST :: r(1)
    integer :: n_done, places(1)
    call MPI_Irecv(n_done, 1, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, r(1), ierr)
    call MPI_Waitany(1, r, any, MPI_STATUS_IGNORE, ierr)
    call MPI_Irecv(n_done, 1, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, r(1), ierr)
    call MPI_Waitsome(1, r, n_done, places, MPI_STATUSES_IGNORE, ierr)
    some = places(1)
    call expect(any == 0 .or. any == 1, 'the first index of waitany')
    call expect(some == 0 .or. some == 1, 'the first index of waitsome')
  end subroutine find_first_index

  subroutine nonblocking
    double precision, asynchronous, save :: a(ROOM, 4), b(ROOM, 4)
    REQUEST :: r(8)
    STATUSES(s, 8)
    STATUS(one)
    integer :: i, k, n_done, elements, places(8), first_any, first_some
    logical :: flag

    call start(a, b, r, 10)
    call MPI_Waitall(8, r, MPI_STATUSES_IGNORE, ierr)
    call look(b, r, 10, 'waitall')

    call start(a, b, r, 20)
    call MPI_Waitall(8, r, s, ierr)
    call look(b, r, 20, 'waitall with statuses')
    do i = 1, 4
      call MPI_Get_count(NTH(s, i), column, elements, ierr)
      call expect(SOURCE_OF_NTH(s, i) == peer .and. TAG_OF_NTH(s, i) == 20 + i .and. elements == 1, 'statuses')
    end do

    call find_first_index(first_any, first_some)
    call start(a, b, r, 30)
    places = 0
    do k = 1, 8
      call MPI_Waitany(8, r, i, one, ierr)
      i = i + 1 - first_any
      call expect(i >= 1 .and. i <= 8, 'the index of waitany')
      places(i) = places(i) + 1
      if (i <= 4) call expect(TAG_OF(one) == 30 + i .and. arrived(b(:, i), peer, 30 + i), 'waitany')
    end do
    call expect(all(places == 1), 'waitany: each request once')
    call MPI_Waitany(8, r, i, MPI_STATUS_IGNORE, ierr)
    call expect(i < 0, 'waitany of nothing') ! MPI_UNDEFINED, with MPICH 4.0's mpif.h one more
    call look(b, r, 30, 'waitany')

    call start(a, b, r, 40)
    k = 0
    do while (k < 8)
      call MPI_Waitsome(8, r, n_done, places, s, ierr)
      call expect(n_done >= 1, 'waitsome')
      do i = 1, n_done
        places(i) = places(i) + 1 - first_some
        if (places(i) <= 4) call expect(TAG_OF_NTH(s, i) == 40 + places(i), 'waitsome: a status')
        if (places(i) <= 4) call expect(arrived(b(:, places(i)), peer, 40 + places(i)), 'waitsome')
      end do
      k = k + n_done
    end do
    call look(b, r, 40, 'waitsome')

    call start(a, b, r, 50)
    flag = .false.
    do while (.not. flag)
      call MPI_Testall(8, r, flag, MPI_STATUSES_IGNORE, ierr)
    end do
    call look(b, r, 50, 'testall')

    call start(a, b, r, 60)
    do i = 1, 8
      flag = .false.
      do while (.not. flag)
        call MPI_Test(r(i), flag, MPI_STATUS_IGNORE, ierr)
      end do
    end do
    call look(b, r, 60, 'test')

    call start(a, b, r, 70)
    do i = 1, 8
      call MPI_Wait(r(i), MPI_STATUS_IGNORE, ierr)
    end do
    call look(b, r, 70, 'wait')
  end subroutine nonblocking

  subroutine persistent
    double precision, asynchronous, save :: a(ROOM), b(ROOM)
    REQUEST :: r(2)
    integer :: k
    call MPI_Recv_init(b, 1, column, peer, 80, MPI_COMM_WORLD, r(1), ierr)
    call MPI_Send_init(a, 1, column, peer, 80, MPI_COMM_WORLD, r(2), ierr)
    do k = 81, 85
      b = -1
      call fill(a, rank, k)
      call MPI_Startall(2, r, ierr)
      call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, ierr)
      call expect(arrived(b, peer, k) .and. r(1) /= MPI_REQUEST_NULL, 'persistent')
    end do
    call MPI_Request_free(r(1), ierr)
    call MPI_Request_free(r(2), ierr)
    call expect(r(1) == MPI_REQUEST_NULL .and. r(2) == MPI_REQUEST_NULL, 'freed persistent requests')
  end subroutine persistent

  ! For collectives: one object every N * GAP elements.
  subroutine collective
    double precision, asynchronous, save :: a(ROOM, 0:1), b(ROOM, 0:1)
    DATATYPE :: spaced
    REQUEST :: r
    integer(kind=MPI_ADDRESS_KIND) :: lb = 0, extent = 8 * ROOM
    integer :: i
    call MPI_Type_create_resized(column, lb, extent, spaced, ierr)
    call MPI_Type_commit(spaced, ierr)

    b = -1
    if (rank == 0) call fill(b, 0, 90)
    call MPI_Bcast(b, 1, spaced, 0, MPI_COMM_WORLD, ierr)
    if (rank == 1) call expect(arrived(b(:, 0), 0, 90), 'bcast')

    b = -1
    call fill(a(:, 0), rank, 91)
    call fill(a(:, 1), rank, 91)
    call MPI_Alltoall(a, 1, spaced, b, 1, spaced, MPI_COMM_WORLD, ierr)
    do i = 0, 1
      call expect(arrived(b(:, i), i, 91), 'alltoall')
    end do

    b = -1
    call fill(a(:, 0), rank, 92)
    b(1:ROOM:GAP, rank) = a(1:ROOM:GAP, 0)
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 1, spaced, MPI_COMM_WORLD, ierr)
    do i = 0, 1
      call expect(arrived(b(:, i), i, 92), 'allgather in place')
    end do

    call fill(a(:, 0), rank, 93)
    b = -1
    if (rank == 1) then
      b(1:ROOM:GAP, 1) = a(1:ROOM:GAP, 0)
      call MPI_Gather(MPI_IN_PLACE, 1, spaced, b, 1, spaced, 1, MPI_COMM_WORLD, ierr)
      do i = 0, 1
        call expect(arrived(b(:, i), i, 93), 'gather in place')
      end do
    else
      call MPI_Gather(a, 1, spaced, b, 1, spaced, 1, MPI_COMM_WORLD, ierr)
    end if

    b = -1
    if (rank == 0) call fill(b, 0, 94)
    call MPI_Ibcast(b, 1, spaced, 0, MPI_COMM_WORLD, r, ierr)
    call MPI_Wait(r, MPI_STATUS_IGNORE, ierr)
    if (rank == 1) call expect(arrived(b(:, 0), 0, 94), 'ibcast')
    call MPI_Type_free(spaced, ierr)
  end subroutine collective
  ! Between MPI_Init and MPI_Finalize. How many things went wrong on both ranks.
  integer(c_int) function run_checks() bind(C, name='run_checks')
    integer :: ranks
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    if (ranks /= 2) then
      print '(a)', 'two ranks, please'
      call MPI_Abort(MPI_COMM_WORLD, 2, ierr)
    end if
    peer = 1 - rank
    call pack_and_unpack
    call MPI_Type_vector(N, 1, GAP, MPI_DOUBLE_PRECISION, column, ierr)
    call MPI_Type_commit(column, ierr)
    call blocking
    call bottom
    call nonblocking
    call persistent
    call collective
    call MPI_Type_free(column, ierr)
    call MPI_Allreduce(failures, run_checks, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (rank == 0 .and. run_checks == 0) print '(a)', 'passed'
  end function run_checks
end module checks

#ifndef MODULE_ONLY
program bindings
  use checks
#if BINDING == 2
  use mpi
#elif BINDING == 3
  use mpi_f08
#endif
  implicit none
  integer :: wrong

#if BINDING == 3
  call MPI_Init ! the last argument is optional there
#else
  call MPI_Init(ierr)
#endif
  wrong = run_checks()
  call MPI_Finalize(ierr)
  if (wrong /= 0) error stop 1
end program bindings
#endif
