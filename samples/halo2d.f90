! Halo exchange on a periodic 2-D grid, in Fortran: columns are contiguous, rows are vectors.
!
! Every rank owns nx x ny points of a block, with a halo of one point around them. Rows are exchanged first, with their
! ends in the halo, then columns; so the corners travel with the columns. --types=vector describes the four borders with
! MPI_Type_vector, --types=subarray with MPI_Type_create_subarray in Fortran order.
program halo2d
  use mpi
  implicit none

  integer, parameter :: dp = kind(1.0d0), i8 = selected_int_kind(18)
  integer, parameter :: low = 1, high = 2            ! the two sides of an axis
  integer, parameter :: pack_mode = 1, sendrecv_mode = 2, send_mode = 3
  character(len=8), parameter :: mode_words(3) = [character(len=8) :: 'pack', 'sendrecv', 'send']

  ! Options.
  integer :: nx = 512, ny = 512, iterations = 20, warmup = 3, mode = pack_mode
  logical :: subarrays = .false., help = .false., good = .true.

  integer :: ierr, comm, rank, ranks, dims(2) = 0, coords(2)
  integer :: neighbour(2, 2)                         ! (side, axis)
  integer :: inner(2, 2), outer(2, 2)                ! datatypes: my border, the halo on that side
  integer :: inner_at(2, 2, 2), outer_at(2, 2, 2)    ! (axis, side, axis): the point where each of them starts
  integer :: room(2)                                 ! packed bytes of one side, by axis
  real(dp), allocatable :: grid(:, :)
  real(dp), allocatable :: pack_time(:), unpack_time(:), exchange_time(:)
  integer(kind=1), allocatable :: send_buffer(:), recv_buffer(:)
  logical :: right

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call parse
  if (help) then
    if (rank == 0) call print_help
    call MPI_Finalize(ierr)
    stop
  else if (.not. good) then
    call MPI_Finalize(ierr)
    stop 2, quiet=.true.
  end if

  call set_up
  call verified_exchange(right)
  call measure
  block
    logical :: still
    call verified_exchange(still)
    right = right .and. still
  end block
  call report
  call tear_down
  call MPI_Finalize(ierr)
  if (.not. right) stop 1, quiet=.true.

contains

  ! ---- command line ----

  subroutine parse
    integer :: i
    logical :: known
    character(len=64) :: arg

    do i = 1, command_argument_count()
      call get_command_argument(i, arg)
      select case (arg)
      case ('--help'); help = .true.
      case ('--types=vector'); subarrays = .false.
      case ('--types=subarray'); subarrays = .true.
      case ('--mode=pack'); mode = pack_mode
      case ('--mode=sendrecv'); mode = sendrecv_mode
      case ('--mode=send'); mode = send_mode
      case default
        known = .false.
        call number(arg, '--nx=', 1, nx, known)
        call number(arg, '--ny=', 1, ny, known)
        call number(arg, '--iterations=', 1, iterations, known)
        call number(arg, '--warmup=', 0, warmup, known)
        if (.not. known .and. rank == 0) write (0, '(3a)') "halo2d: bad argument '", trim(arg), "'; see halo2d --help"
        good = good .and. known
      end select
    end do
  end subroutine parse

  ! Takes the value of `name` when `arg` is that option with a number that is not too small.
  subroutine number(arg, name, least, value, known)
    character(len=*), intent(in) :: arg, name
    integer, intent(in) :: least
    integer, intent(inout) :: value
    logical, intent(inout) :: known
    integer :: v, stat

    if (index(arg, name) /= 1) return
    read (arg(len(name) + 1:), *, iostat=stat) v
    if (stat /= 0 .or. v < least) return
    value = v
    known = .true.
  end subroutine number

  subroutine print_help
    print '(a)', 'usage: mpiexec -n RANKS halo2d [options]', '', &
      'Halo exchange on a periodic 2-D grid in Fortran, verified against known values.', '', &
      '  --nx=N --ny=N     points of each rank (default 512 each)', &
      '  --types=WORD      vector or subarray: how rows and columns are described (default vector)', &
      '  --mode=WORD       pack: MPI_Pack, exchange, MPI_Unpack (default)', &
      '                    sendrecv, send: derived types in MPI_Sendrecv, in blocking MPI_Send and MPI_Recv', &
      '  --iterations=N    timed exchanges (default 20)', &
      '  --warmup=N        exchanges before these (default 3)', '', &
      'Times are medians over the iterations, the largest of all ranks. Exit status 1 on a wrong value.'
  end subroutine print_help

  ! ---- the process grid, the datatypes ----

  subroutine set_up
    logical :: periodic(2) = .true.
    integer :: axis

    call MPI_Dims_create(ranks, 2, dims, ierr)
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periodic, .false., comm, ierr)
    call MPI_Comm_rank(comm, rank, ierr)
    call MPI_Cart_coords(comm, rank, 2, coords, ierr)
    do axis = 1, 2
      call MPI_Cart_shift(comm, axis - 1, 1, neighbour(low, axis), neighbour(high, axis), ierr)
      call make_types(axis)
      call MPI_Pack_size(1, inner(low, axis), comm, room(axis), ierr)
    end do
    allocate (grid(0:nx + 1, 0:ny + 1), send_buffer(2*maxval(room)), recv_buffer(2*maxval(room)))
    allocate (pack_time(iterations), unpack_time(iterations), exchange_time(iterations))
    if (rank == 0) print '(*(g0))', 'halo2d: ', ranks, ' ranks (', dims(1), ' x ', dims(2), '), ', nx, ' x ', ny, &
      ' points each, ', trim(merge('subarray', 'vector  ', subarrays)), ', mode ', trim(mode_words(mode)), ', ', &
      2*sum(room), ' bytes per exchange and rank'
  end subroutine set_up

  ! Axis 1: rows of the own points. Axis 2: columns with both ends in the halo, which the rows have filled.
  subroutine make_types(axis)
    integer, intent(in) :: axis
    integer :: side, first(2), length(2), n(2)

    n = [nx, ny]
    first = [1, 1]
    length = n
    if (axis == 2) then
      first(1) = 0
      length(1) = nx + 2
    end if
    length(axis) = 1
    do side = low, high
      first(axis) = merge(1, n(axis), side == low)
      call make_type(first, length, inner(side, axis), inner_at(:, side, axis))
      first(axis) = merge(0, n(axis) + 1, side == low)
      call make_type(first, length, outer(side, axis), outer_at(:, side, axis))
    end do
  end subroutine make_types

  subroutine make_type(first, length, type, at)
    integer, intent(in) :: first(2), length(2)
    integer, intent(out) :: type, at(2)

    if (subarrays) then
      at = [0, 0]
      call MPI_Type_create_subarray(2, [nx + 2, ny + 2], length, first, MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, &
                                    type, ierr)
    else
      at = first
      call MPI_Type_vector(length(2), length(1), nx + 2, MPI_DOUBLE_PRECISION, type, ierr)
    end if
    call MPI_Type_commit(type, ierr)
  end subroutine make_type

  subroutine tear_down
    integer :: axis, side

    do axis = 1, 2
      do side = low, high
        call MPI_Type_free(inner(side, axis), ierr)
        call MPI_Type_free(outer(side, axis), ierr)
      end do
    end do
    call MPI_Comm_free(comm, ierr)
  end subroutine tear_down

  ! ---- exchanges ----

  subroutine exchange(pack_seconds, unpack_seconds, seconds)
    real(dp), intent(out) :: pack_seconds, unpack_seconds, seconds
    real(dp) :: begin
    integer :: axis, side

    pack_seconds = 0
    unpack_seconds = 0
    call MPI_Barrier(comm, ierr)
    begin = MPI_Wtime()
    do axis = 1, 2
      if (mode == pack_mode) then
        call exchange_packed(axis, pack_seconds, unpack_seconds)
      else
        do side = low, high
          call exchange_typed(axis, side)
        end do
      end if
    end do
    seconds = MPI_Wtime() - begin
  end subroutine exchange

  subroutine exchange_packed(axis, pack_seconds, unpack_seconds)
    integer, intent(in) :: axis
    real(dp), intent(inout) :: pack_seconds, unpack_seconds
    integer :: side, position, at(2), bytes(2), requests(4)
    real(dp) :: begin

    begin = MPI_Wtime()
    do side = low, high
      at = inner_at(:, side, axis)
      position = slot(side, axis) - 1
      call MPI_Pack(grid(at(1), at(2)), 1, inner(side, axis), send_buffer, size(send_buffer), position, comm, ierr)
      bytes(side) = position - slot(side, axis) + 1
    end do
    pack_seconds = pack_seconds + MPI_Wtime() - begin
    do side = low, high
      call MPI_Irecv(recv_buffer(slot(side, axis)), room(axis), MPI_PACKED, neighbour(side, axis), 3 - side, comm, &
                     requests(side), ierr)
    end do
    do side = low, high
      call MPI_Isend(send_buffer(slot(side, axis)), bytes(side), MPI_PACKED, neighbour(side, axis), side, comm, &
                     requests(2 + side), ierr)
    end do
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierr)
    begin = MPI_Wtime()
    do side = low, high
      at = outer_at(:, side, axis)
      position = slot(side, axis) - 1
      call MPI_Unpack(recv_buffer, size(recv_buffer), position, grid(at(1), at(2)), 1, outer(side, axis), comm, ierr)
    end do
    unpack_seconds = unpack_seconds + MPI_Wtime() - begin
  end subroutine exchange_packed

  ! Where the packed form of a side starts in the buffers.
  integer function slot(side, axis)
    integer, intent(in) :: side, axis

    slot = 1 + (side - 1)*room(axis)
  end function slot

  ! Sends my border on `side`, receives what comes the same way into the halo on the other side. Around the ring of an
  ! axis, even coordinates send first.
  subroutine exchange_typed(axis, side)
    integer, intent(in) :: axis, side
    integer :: from(2), into(2), other
    logical :: first

    other = 3 - side
    from = inner_at(:, side, axis)
    into = outer_at(:, other, axis)
    if (mode == sendrecv_mode .or. dims(axis) == 1) then
      call MPI_Sendrecv(grid(from(1), from(2)), 1, inner(side, axis), neighbour(side, axis), side, &
                        grid(into(1), into(2)), 1, outer(other, axis), neighbour(other, axis), side, comm, &
                        MPI_STATUS_IGNORE, ierr)
      return
    end if
    first = mod(coords(axis), 2) == 0
    if (first) call MPI_Send(grid(from(1), from(2)), 1, inner(side, axis), neighbour(side, axis), side, comm, ierr)
    call MPI_Recv(grid(into(1), into(2)), 1, outer(other, axis), neighbour(other, axis), side, comm, &
                  MPI_STATUS_IGNORE, ierr)
    if (.not. first) then
      call MPI_Send(grid(from(1), from(2)), 1, inner(side, axis), neighbour(side, axis), side, comm, ierr)
    end if
  end subroutine exchange_typed

  ! ---- known values: every point of the global grid has a number of its own ----

  real(dp) function known_value(i, j)
    integer, intent(in) :: i, j
    integer(i8) :: gx, gy, px, py

    gx = int(nx, i8)*dims(1)
    gy = int(ny, i8)*dims(2)
    px = modulo(int(coords(1), i8)*nx + i - 1, gx)
    py = modulo(int(coords(2), i8)*ny + j - 1, gy)
    known_value = real(py*gx + px, dp)
  end function known_value

  subroutine fill
    integer :: i, j

    grid = -1
    do j = 1, ny
      do i = 1, nx
        grid(i, j) = known_value(i, j)
      end do
    end do
  end subroutine fill

  ! The first exchange and the last are verified.
  subroutine verified_exchange(all_right)
    logical, intent(out) :: all_right
    integer :: i, j, wrong
    real(dp) :: unused(3)

    call fill
    call exchange(unused(1), unused(2), unused(3))
    wrong = 0
    do j = 0, ny + 1
      do i = 0, nx + 1
        if (grid(i, j) == known_value(i, j)) cycle
        wrong = wrong + 1
        if (wrong == 1) write (0, '(a,i0,a,i0,a,i0,a,g0,a,g0)') 'halo2d: WRONG on rank ', rank, ': at point (', i, &
          ', ', j, '): ', grid(i, j), ' instead of ', known_value(i, j)
      end do
    end do
    all_right = over_ranks(real(wrong, dp), MPI_SUM) < 1
  end subroutine verified_exchange

  ! ---- timing and report ----

  subroutine measure
    integer :: i
    real(dp) :: unused(3)

    do i = 1, warmup
      call exchange(unused(1), unused(2), unused(3))
    end do
    do i = 1, iterations
      call exchange(pack_time(i), unpack_time(i), exchange_time(i))
    end do
  end subroutine measure

  ! Median over the iterations, then the largest of all ranks, in microseconds.
  real(dp) function phase_us(seconds)
    real(dp), intent(inout) :: seconds(:)
    real(dp) :: mine
    integer :: i, least

    do i = 1, size(seconds)/2 + 1
      least = i - 1 + minloc(seconds(i:), 1)
      mine = seconds(least)
      seconds(least) = seconds(i)
      seconds(i) = mine
    end do
    phase_us = over_ranks(mine, MPI_MAX)*1e6_dp
  end function phase_us

  real(dp) function over_ranks(mine, operation)
    real(dp), intent(in) :: mine
    integer, intent(in) :: operation

    call MPI_Allreduce(mine, over_ranks, 1, MPI_DOUBLE_PRECISION, operation, comm, ierr)
  end function over_ranks

  ! Weights every point by its place, so that values in wrong places change the sum. Whole numbers, kept small enough to
  ! be exact as reals.
  integer(i8) function checksum()
    integer :: i, j
    integer(i8) :: mine, weight

    mine = 0
    do j = 0, ny + 1
      do i = 0, nx + 1
        weight = 1 + modulo(int(j, i8)*(nx + 2) + i + 977_i8*rank, 4093_i8)
        mine = mine + weight*modulo(int(grid(i, j), i8), 524287_i8)
      end do
    end do
    checksum = int(over_ranks(real(modulo(mine, 2_i8**40), dp), MPI_SUM), i8)
  end function checksum

  subroutine report
    real(dp) :: pack_us, unpack_us, exchange_us
    integer(i8) :: total

    pack_us = phase_us(pack_time)
    unpack_us = phase_us(unpack_time)
    exchange_us = phase_us(exchange_time)
    total = checksum()
    if (rank /= 0) return
    if (mode == pack_mode) then
      print '(a,f0.1,a,f0.1,a,f0.1)', 'halo2d: pack_us ', pack_us, ' unpack_us ', unpack_us, ' exchange_us ', &
        exchange_us
    else
      print '(a,f0.1)', 'halo2d: exchange_us ', exchange_us
    end if
    print '(a,z16.16)', 'halo2d: checksum ', total
    if (right) print '(a)', 'halo2d: verified'
  end subroutine report

end program halo2d
